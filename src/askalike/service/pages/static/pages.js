// Single keys press buttons: A presses data-key="a", unless somebody is typing or has switched the keys off.
(() => {
  const isTextField = (element) => element.closest("input:not([type=checkbox]), textarea, select");
  const keysEnabled = () => localStorage.getItem("keys") !== "off";
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || isTextField(event.target) || !keysEnabled()) return;
    const button = document.querySelector(`[data-key="${CSS.escape(event.key.toLowerCase())}"]`);
    if (!button) return;
    event.preventDefault();
    if (document.querySelector(".htmx-request")) return; // the page is about to change
    button.click();
  });
  const show = (root) => root.querySelectorAll("[data-keys]").forEach((box) => { box.checked = keysEnabled(); });
  document.addEventListener("change", (event) => {
    if (event.target.matches("[data-keys]")) localStorage.setItem("keys", event.target.checked ? "on" : "off");
  });
  document.addEventListener("htmx:load", (event) => show(event.target));
  show(document);
})();
