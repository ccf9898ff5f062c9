// askalike: a search box with similar questions in any page, without a service. Settings are data attributes of the script tag:
// input (CSS selector of a field; without it, a search field appears in place of the tag), k, label, count ("Similar questions: {n}"), theme (light, dark).
(() => {
  const script = document.currentScript, set = script.dataset, id = `askalike-${Math.random().toString(36).slice(2)}`
  const labels = { de: "Ähnliche Fragen", fr: "Questions similaires", ru: "Похожие вопросы" }
  const label = set.label || labels[document.documentElement.lang.slice(0, 2)] || "Similar questions"
  const make = (tag, props = {}, ...children) => {
    const node = Object.assign(document.createElement(tag), props)
    node.append(...children)
    return node
  }
  const style = new CSSStyleSheet()
  style.replaceSync(`
.askalike-list{position:absolute;z-index:99;box-sizing:border-box;margin:.25em 0 0;padding:.25em;list-style:none;
background:Canvas;color:CanvasText;border:1px solid;border-radius:.4em;text-align:start;
&[hidden]{display:none}
li{padding:.5em;border-radius:.3em;cursor:pointer;line-height:1.35;overflow-wrap:anywhere}
[aria-selected=true],li:hover{background:color-mix(in srgb,CanvasText 13%,Canvas)}}
.askalike-said{position:absolute;width:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}`)
  document.adoptedStyleSheets.push(style)

  let loading
  const load = () => loading ??= new Promise((resolve, reject) => {
    const search = make("script", { src: new URL("search.js", script.src), onload: () => resolve(askalikeSite.ready), onerror: () => reject(new Error(`askalike: ${search.src} cannot be loaded`)) })
    document.head.append(search)
  })
  const start = () => {
    let input = set.input && document.querySelector(set.input)
    if (input === null) return console.error(`askalike: data-input="${set.input}" matches nothing here`)
    if (!input) {
      input = make("input", { type: "search" })
      script.after(make("label", {}, `${label} `, input))
    }
    const list = make("ul", { className: "askalike-list", hidden: true, id, role: "listbox", ariaLabel: label })
    const said = make("div", { className: "askalike-said", role: "status" })
    let found = [], active = -1, timer
    Object.assign(input, { role: "combobox", ariaAutoComplete: "list", ariaExpanded: false, autocomplete: "off" })
    input.setAttribute("aria-controls", id)
    if (set.theme) list.style.colorScheme = set.theme
    input.after(list, said)

    const open = (on) => {
      list.hidden = !on
      input.ariaExpanded = on
      if (!on) return choose(-1)
      list.dir = getComputedStyle(input).direction
      list.style.width = `${Math.max(input.offsetWidth, 200)}px`
      list.style.top = `${input.offsetTop + input.offsetHeight}px`
      list.style.left = `${input.offsetLeft}px`
    }
    const choose = (at) => {
      active = at
      ;[...list.children].forEach((option, n) => { option.ariaSelected = n === at })
      if (at < 0) input.removeAttribute("aria-activedescendant")
      else input.setAttribute("aria-activedescendant", list.children[at].id)
    }
    const follow = (hit) => {
      const told = new CustomEvent("askalike", { detail: hit, bubbles: true, cancelable: true })
      if (input.dispatchEvent(told) && /^https?:/.test(hit.url)) location.assign(hit.url)
      open(false)
    }
    const show = () => {
      found = input.value.trim().length < 3 ? [] : askalikeSite.search(input.value, { k: +set.k || 5 }).hits
      list.replaceChildren(...found.map((hit, n) =>
        make("li", { id: `${id}-${n}`, role: "option", dir: "auto", onclick: () => follow(hit) }, hit.title)))
      choose(-1)
      open(found.length > 0)
      said.textContent = found.length ? (set.count || `${label}: {n}`).replace("{n}", found.length) : ""
    }
    const ask = () => load().then(show).catch((error) => console.error(error))
    input.addEventListener("focus", load, { once: true })
    input.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(ask, 100) })
    input.addEventListener("blur", () => open(false))
    list.addEventListener("pointerdown", (event) => event.preventDefault())
    input.addEventListener("keydown", (event) => {
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key], places = found.length + 1
      if (event.isComposing || !found.length) return
      if (step) {
        if (list.hidden) open(true)
        choose((active + 1 + step + places) % places - 1)
      } else if (event.key === "Escape" && !list.hidden) open(false)
      else if (event.key === "Enter" && active >= 0) follow(found[active])
      else return
      event.preventDefault()
    })
  }
  if (document.readyState === "loading") addEventListener("DOMContentLoaded", start)
  else start()
})()
