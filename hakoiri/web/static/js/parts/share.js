// A button that copies the address of the page.

import {button, say} from "../lib/dom.js";

export function shareButton() {
  const share = button("Copy link", async () => {
    try {
      await navigator.clipboard.writeText(location.href);
      say("The link is copied.");
      share.textContent = "Link copied";
    } catch {
      prompt("The link to what is shown:", location.href);
    }
    setTimeout(() => { share.textContent = "Copy link"; }, 1500);
  });
  return share;
}
