// What is asked in a typed text: the whole without its courtesies, and each sentence that may be what is asked. As
// askalike's text/courtesies.py, text/passages.py and search/readings.py find it, by their rules.
// findTerms: the terms of a text without function words.
const makeReader = ({ sentences, courtesies, readings }, findTerms) => {
  const compile = (pattern, flags) => new RegExp(pattern, flags)
  const { greeting, closing, subject, smiley, chatWord, drawnOut, clauseEnd, oneSentence } = courtesies.patterns
  const patterns = {
    greeting: compile(greeting, "iu"), closing: compile(`^${closing}`, "iu"), subject: compile(subject, "iu"), smiley: compile(smiley, "gu"),
    chatWord: compile(chatWord, "iu"), drawnOut: compile(drawnOut, "gu"), clauseEnd: compile(clauseEnd, "u"), oneSentence: compile(`^${oneSentence}$`, "u"),
    end: compile(sentences.patterns.end, "gu"), initials: compile(`^${sentences.patterns.initials}$`, "u"),
  }
  const abbreviations = new Set(sentences.abbreviations), alwaysFollowed = new Set(sentences.alwaysFollowed)
  const signs = new Set(courtesies.signs), pleas = new Set(courtesies.pleas), small = new Set(Object.values(courtesies.stems))
  const isUpper = (text) => text === text.toUpperCase() && text !== text.toLowerCase()
  const splitWords = (text) => text.split(/\s+/).filter(Boolean)

  // ---- sentences

  const endsSentence = (preceding, following) => {
    const words = splitWords(preceding), last = (words.at(-1) || "").replace(/^[([{"'«“„]+/, "")
    if (last.length === 1 && isUpper(last)) return last === "I"
    if (words.length === 1 && /^\p{N}+$/u.test(last)) return false
    if (alwaysFollowed.has(last.toLowerCase())) return false
    return isUpper(following || "") || !(abbreviations.has(last.toLowerCase()) || patterns.initials.test(last))
  }
  const splitLine = (line) => {
    const found = []
    let start = 0
    for (const match of line.matchAll(patterns.end)) {
      const end = match.index + match[0].length
      if (match.groups.stop !== undefined && !endsSentence(line.slice(start, match.index), line[end])) continue
      found.push(line.slice(start, end).trim())
      start = end
    }
    return [...found, line.slice(start).trim()].filter(Boolean)
  }
  const splitSentences = (text) => text.split(/\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]/).flatMap(splitLine)

  // ---- courtesies

  const areSmall = (terms) => terms.every((term) => small.has(term))
  const isCourtesy = (clause) => {
    if (!clause.includes("?") && patterns.closing.test(clause)) return true
    const terms = findTerms(clause)
    return areSmall(terms) && terms.some((term) => pleas.has(term))
  }
  const trim = (sentence) => {
    const plain = sentence.replace(patterns.drawnOut, "$1").replace(patterns.chatWord, "").trim().replace(patterns.greeting, "").trim()
    const clauses = plain.split(patterns.clauseEnd)
    let first = 0, end = clauses.length
    while (first < end && isCourtesy(clauses[first])) first++
    while (first < end && isCourtesy(clauses[end - 1])) end--
    return end - first < clauses.length ? clauses.slice(first, end).join(" ").replace(/[ ,;:]+$/, "") : plain
  }
  const isName = (clause) => splitWords(clause).length <= courtesies.maxNameWords && !clause.includes("?")
  const splitRequest = (text) => {
    if (patterns.oneSentence.test(text) && !splitWords(text.toLowerCase()).some((word) => signs.has(word))) return [text.trim()]
    const every = splitSentences(text.replace(patterns.smiley, "\n")).map((sentence) => sentence.replace(patterns.subject, "")), kept = []
    let followsClosing = false
    for (const sentence of every) {
      const rest = every.length > 1 && areSmall(findTerms(sentence)) ? "" : trim(sentence)
      if (rest && !(followsClosing && kept.length && isName(rest))) kept.push(rest)
      followsClosing = !rest && patterns.closing.test(sentence)
    }
    return kept.length ? kept : every.filter(Boolean)
  }

  // ---- readings

  const countTerms = (text) => new Set(findTerms(text)).size
  const findAsking = (every) => {
    const counts = new Map(every.map((sentence) => [sentence, countTerms(sentence)]))
    const telling = [...counts.keys()].filter((sentence) => counts.get(sentence) >= readings.minTerms)
    const asking = telling.filter((sentence) => readings.questionMarks.some((mark) => sentence.endsWith(mark)))
    return (asking.length ? asking : telling.sort((a, b) => counts.get(b) - counts.get(a))).slice(0, readings.maxSentences)
  }
  // The readings of a text, the whole first.
  const findReadings = (typed) => {
    const every = splitRequest(typed), whole = every.join(" "), texts = [whole], collapsed = splitWords(typed).join(" ")
    if (every.length > 1) texts.push(...findAsking(every).filter((sentence) => sentence !== whole))
    if (collapsed !== whole && countTerms(whole) < readings.minTerms) texts.push(collapsed)
    return texts.map((text) => isUpper(text) && text.includes(" ") ? text.toLowerCase() : text)
  }
  // How far the score for a sentence raises that for the whole.
  const weigh = (text) => Math.min(1, countTerms(text) / readings.clearTerms)
  return { findReadings, weigh }
}
