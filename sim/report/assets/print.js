// Paper cannot be clicked: decisions are opened for it.
let opened = [];
addEventListener("beforeprint", () => {
  opened = [...document.querySelectorAll(".choice:not([open])")];
  for (const details of opened) details.open = true;
});
addEventListener("afterprint", () => {
  for (const details of opened) details.open = false;
});
