// Browsers start no worker from a file. Search then runs in a hidden frame in place of one: this is all that the
// theme needs of `Worker`, and the site asks no other host for it.
if (location.protocol === "file:") {
  window.IFrameWorker = class extends EventTarget {
    constructor(url) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.append(this.frame);
      this.inside = this.frame.contentWindow;
      this.inside.document.open();
      this.inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      this.loaded = new Promise((resolve) => this.frame.addEventListener("load", resolve, { once: true }));
      this.inside.document.write(`<script src="${url}"></scr` + "ipt>");
      this.inside.document.close();
    }
    postMessage(data) {
      this.loaded.then(() => this.inside.dispatchEvent(new MessageEvent("message", { data })));
    }
    terminate() {
      this.frame.remove();
    }
  };
  window.Worker = window.IFrameWorker;
}
