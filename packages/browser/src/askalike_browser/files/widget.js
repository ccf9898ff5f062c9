// askalike: a search box with similar questions in any page, without a service. Settings are data attributes of the script tag:
// input (CSS selector of a field; without it, a search field appears in place of the tag), k, label, count ("Similar questions: {n}"), theme (light, dark).
let loading
const load = () => loading ??= new Promise((resolve, reject) => {
  const search = make("script", { src: new URL("search.js", script.src), onload: () => resolve(askalikeSite.ready), onerror: () => reject(new Error(`askalike: ${search.src} cannot be loaded`)) })
  document.head.append(search)
})
whenReady(() => {
  const input = findInput()
  if (!input) return
  const show = addList(input, (hit) => [make("span", { dir: "auto" }, hit.title)])
  const search = () => show(input.value.trim().length < 3 ? [] : askalikeSite.search(input.value, { k: +set.k || 5 }).hits)
  const ask = () => load().then(search).catch((error) => console.error(error))
  let timer
  input.addEventListener("focus", load, { once: true })
  on(input, "input", () => { clearTimeout(timer); timer = setTimeout(ask, 100) })
})
