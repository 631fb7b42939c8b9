// The API key: entered in a dialog, kept until the tab is closed.
import { keepInTab, keptInTab } from "./explain/settings.js";

const byId = (id) => document.getElementById(id);

export class Key {
  // `changed` is called after the key changes.
  constructor(changed) {
    Object.assign(this, { changed, value: "" });
    const dialog = byId("key-dialog"), field = byId("key");
    byId("key-open").addEventListener("click", () => {
      field.value = this.value;
      dialog.showModal();
      field.select();
    });
    byId("key-cancel").addEventListener("click", () => dialog.close());
    dialog.addEventListener("close", () => { field.value = ""; });
    byId("key-form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.take(field.value.trim());
      dialog.close();
    });
  }

  // True if the server needs a key.
  offer(is) {
    byId("key-open").hidden = !is;
    if (is) this.value ||= keptInTab("key") ?? "";
  }

  take(value) {
    if (value === this.value) return;
    this.value = value;
    keepInTab("key", value);
    this.changed();
  }
}
