"""The commands of `sim`, a file each: parse, call, print. What a command needs is imported when it runs."""
