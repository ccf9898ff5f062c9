// The page of a static site: shows what search.js finds. All texts are inserted as texts, never as markup.
(() => {
  const get = (id) => document.getElementById(id)
  const messages = JSON.parse(get("messages").textContent)
  const input = get("question"), found = get("found"), said = get("said"), site = askalikeSite
  let language = document.documentElement.lang, state = "loading", shown = []
  const say = (key, values = {}) => messages[language][key].replace(/\{(\w+)\}/g, (_, name) => values[name])
  const make = (tag, props = {}, ...children) => {
    const node = Object.assign(document.createElement(tag), props)
    node.append(...children)
    return node
  }
  const useLanguage = (chosen) => {
    language = document.documentElement.lang = chosen
    for (const node of document.querySelectorAll("[data-text]")) node.textContent = say(node.dataset.text)
    for (const node of document.querySelectorAll("[data-label]")) node.setAttribute("aria-label", say(node.dataset.label))
    for (const summary of document.querySelectorAll(".related > summary")) summary.textContent = say("related", { n: shown.groups.related.length })
    for (const button of get("languages").children) button.ariaCurrent = button.lang === chosen ? "true" : null
    tell()
  }
  const tell = () => {
    const words = Object.values(shown.corrections || {}).join(", ")
    const { same = [], related = [] } = shown.groups || {}
    const key = same.length ? (related.length ? "likely" : "found") : related.length ? "related" : "none"
    const results = state !== "found" ? (state && say(state)) : say(key, { n: same.length || related.length })
    said.textContent = [results, words && state === "found" && say("read", { words })].filter(Boolean).join(" · ")
  }
  const mark = (text, words) => text.split(/(\$[^$]+\$|[\p{L}\p{N}_]+)/u).map((part) =>
    words.includes(part.toLowerCase()) ? make("mark", {}, part) : part)
  const link = (text) => text.split(/(https?:\/\/[^\s<>"']+[^\s<>"'.,;:!?)\]])/).map((part, n) =>
    n % 2 ? make("a", { href: part, rel: "nofollow noopener noreferrer ugc" }, part) : part)
  const prose = (blocks) => make("div", { className: "prose", dir: "auto" }, ...blocks.map(([code, text]) =>
    code ? make("pre", { tabIndex: 0 }, text) : make("p", {}, ...link(text))))
  let math
  const drawFormulas = () => {
    if (!math && /\$.+\$/.test(found.textContent)) document.head.append(math = make("script", { src: "formulas.js" }))
  }
  const unfold = async (details, { number, has }) => {
    if (!details.open || details.children.length > 1) return
    const texts = await site.unfold(number)
    if (details.children.length < 2) details.append(...(has === 1 ? texts.answers : texts.body).map(prose))
    drawFormulas()
  }
  const item = (hit, words) => {
    const title = mark(hit.title, words)
    const node = make("li", {}, make("h3", { dir: "auto" }, ...(hit.url ? [make("a", { href: hit.url, rel: "noopener" }, ...title)] : title)))
    if (hit.has) {
      const key = hit.has === 1 ? "answer" : "text"
      const summary = make("summary", {}, make("span", {}, say(key)), make("span", { className: "hidden" }, `: ${hit.title}`))
      summary.firstChild.dataset.text = key
      const details = make("details", {}, summary)
      details.addEventListener("toggle", () => unfold(details, hit))
      node.append(details)
    }
    return node
  }
  // Those that probably ask the same; the others below them, or in their place if there are none.
  const list = (hits) => make("ol", {}, ...hits.map((hit) => item(hit, shown.words)))
  const lists = ({ same, related }) => {
    if (!same.length || !related.length) return [list([...same, ...related])]
    const summary = make("summary", { textContent: say("related", { n: related.length }) })
    return [list(same), make("details", { className: "related" }, summary, list(related))]
  }
  const show = () => {
    const text = input.value
    if (state === "failed" || state === "loading") return
    history.replaceState(null, "", text ? `#${encodeURIComponent(text)}` : "#")
    if (text.trim().length < 2) {
      state = ""
      shown = []
      found.replaceChildren()
      return tell()
    }
    shown = site.search(text)
    shown.groups = { same: shown.hits.filter(({ grade }) => grade === "same"), related: shown.hits.filter(({ grade }) => grade !== "same") }
    found.replaceChildren(...lists(shown.groups))
    drawFormulas()
    state = "found"
    tell()
  }
  let timer
  input.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(show, 60) })
  for (const code of Object.keys(messages))
    get("languages").append(make("button", { type: "button", lang: code, onclick: () => useLanguage(code) }, messages[code].this))
  const wanted = (navigator.languages || []).map((code) => code.slice(0, 2)).find((code) => code in messages)
  useLanguage(wanted || language)
  const fromAddress = () => {
    try { input.value = decodeURIComponent(location.hash.slice(1)) } catch { input.value = "" }
    show()
  }
  addEventListener("hashchange", fromAddress)
  site.ready.then(() => {
    state = ""
    if (input.value) show()
    else fromAddress()
    site.complete.then(() => state === "found" && show())
  }).catch((error) => {
    console.error(error)
    state = "failed"
    tell()
  })
})()
