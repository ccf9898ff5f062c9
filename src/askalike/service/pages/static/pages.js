// Keys for what can be clicked: a button with data-key="a" is pressed by A, unless somebody is typing or has said no.
(() => {
  const typing = (at) => at.closest("input:not([type=checkbox]), textarea, select");
  const wanted = () => localStorage.getItem("keys") !== "off";
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || typing(event.target) || !wanted()) return;
    const button = document.querySelector(`[data-key="${CSS.escape(event.key.toLowerCase())}"]`);
    if (!button) return;
    event.preventDefault();
    if (document.querySelector(".htmx-request")) return; // what is seen is about to change
    button.click();
  });
  const show = (root) => root.querySelectorAll("[data-keys]").forEach((box) => { box.checked = wanted(); });
  document.addEventListener("change", (event) => {
    if (event.target.matches("[data-keys]")) localStorage.setItem("keys", event.target.checked ? "on" : "off");
  });
  document.addEventListener("htmx:load", (event) => show(event.target));
  show(document);
})();
