// What is asked in a typed text: the whole without the talk around it, and each sentence that may be what is asked. As
// askalike's text/talk.py, text/passages.py and search/readings.py find it, by their rules.
// findTerms: the terms of a text without function words.
const makeReader = ({ sentences, talk, readings }, findTerms) => {
  const compile = (pattern, flags) => new RegExp(pattern, flags)
  const patterns = {
    word: compile(talk.patterns.word, "gu"), end: compile(sentences.patterns.end, "gu"), initials: compile(`^${sentences.patterns.initials}$`, "u"),
  }
  const abbreviations = new Set(sentences.abbreviations), alwaysFollowed = new Set(sentences.alwaysFollowed)
  const isLower = (text) => text === text.toLowerCase() && text !== text.toUpperCase(), isAlphanumeric = (text) => /[\p{L}\p{N}]/u.test(text)
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

  // ---- talk and matter

  const [JOINED, SPACE, CLAUSE, SENTENCE, LINE, RISE] = talk.gaps
  const encoder = new TextEncoder(), weights = Int8Array.from(atob(talk.weights), (letter) => letter.charCodeAt(0))
  const hash = (letters) => {
    let sum = -1
    for (const byte of encoder.encode(letters.join(""))) {
      sum ^= byte
      for (let n = 0; n < 8; n++) sum = sum >>> 1 ^ (sum & 1 && 0xEDB88320)
    }
    return ~sum
  }
  const readWord = (word) => {
    const letters = [...word.toLowerCase().replace(/\p{Nd}/gu, "0").replace(/(.)\1{2,}/gu, "$1")], [first] = word
    const look = /\p{Nd}/u.test(first) ? 1 : isUpper(word) && first !== word ? 2 : isUpper(first) ? 3 : /\p{L}/u.test(first) ? 4 : 5
    return { word: hash(letters), begin: hash(letters.slice(0, 4)), end3: hash(letters.slice(-3)), look }
  }
  const findGaps = (text, spans) => {
    let low = isLower(text[spans[0][0]])
    return [LINE, ...spans.slice(1).map(([following, stop], n) => {
      const [start, end] = spans[n], between = text.slice(end, following), last = text[end - 1], first = text[following]
      let gap = between.includes("\n") ? LINE : between ? SPACE : JOINED
      if (gap === SPACE && talk.sentenceEnds.includes(last) && !isAlphanumeric(text[start])) gap = SENTENCE
      else if (gap === SPACE && talk.clauseEnds.includes(last)) gap = CLAUSE
      if (gap === SENTENCE || gap === LINE) low = isLower(first)
      else if (low && isUpper(first) && /^\p{L}+$/u.test(text.slice(following + 1, stop))) { low = false; gap = RISE }
      return gap
    })]
  }
  const measureRuns = (gaps, begins, isMarked) => {
    const starts = [...gaps.keys()].filter((n) => begins.includes(gaps[n])), read = []
    starts.forEach((start, n) => {
      const end = starts[n + 1] ?? gaps.length, value = Math.min(7, end - start) + 8 * (start === 0) + 16 * isMarked(end - 1)
      while (read.length < end) read.push(value)
    })
    return read
  }
  // The log odds of each word that it is talk.
  const findOdds = (text, spans, gaps) => {
    const last = spans.length - 1, sentence = measureRuns(gaps, [SENTENCE, LINE], (n) => text[spans[n][1] - 1] === "?")
    const line = measureRuns(gaps, [LINE], (n) => n === last)
    let number = 0
    const read = spans.map(([start, end], n) => ({
      ...readWord(text.slice(start, end)), gap: gaps[n], sentence: sentence[n], line: line[n], start: Math.min(n, 12), end: Math.min(last - n, 12),
      number: number += gaps[n] === SENTENCE || gaps[n] === LINE,
    }))
    const add = (mixed, value) => Math.imul(mixed, 31) + value | 0
    const weigh = (mixed) => {
      for (const [shift, factor] of talk.spread) mixed = Math.imul(mixed ^ mixed >>> shift, factor)
      return weights[mixed >>> 32 - talk.sizeBits]
    }
    return read.map((own, n) => {
      let sum = 0
      talk.templates.forEach((parts, feature) => {
        let mixed = Math.imul(feature, 2654435761)
        for (const [name, offset] of parts) mixed = add(mixed, read[n + offset]?.[talk.read[name]] ?? 0)
        sum += weigh(mixed)
      })
      for (const offset of talk.bag) {
        const other = read[n + offset], feature = talk.templates.length + (offset > 0)
        sum += weigh(add(Math.imul(feature, 2654435761), other?.number === own.number ? other.begin : 0))
      }
      return sum * talk.scale - talk.caution
    })
  }
  // For each word whether it is talk: the most probable states of all.
  const findStates = (odds, gaps) => {
    let best = [0, odds[0]]
    const came = odds.slice(1).map((value, n) => {
      const [[stay, begin], [end, go]] = talk.changes[gaps[n + 1]], [matter, told] = best
      best = [Math.max(matter + stay, told + end), Math.max(matter + begin, told + go) + value]
      return [told + end > matter + stay, told + go > matter + begin]
    })
    return came.reduceRight((states, previous) => [previous[+states[0]], ...states], [best[1] > best[0]])
  }
  const strip = (text) => {
    let start = 0, end = text.length
    while (start < end && talk.edges.includes(text[start])) start++
    while (start < end && talk.edges.includes(text[end - 1])) end--
    return text.slice(start, end)
  }
  const splitParts = (text) => {
    const spans = [...text.matchAll(patterns.word)].map(({ 0: word, index }) => [index, index + word.length])
    if (!spans.length) return splitSentences(text).map((part) => ({ part, isTalk: false }))
    const gaps = findGaps(text, spans), odds = findOdds(text, spans, gaps), states = findStates(odds, gaps)
    const ends = [...states.keys()].filter((n) => n && (states[n] !== states[n - 1] || states[n] && [SENTENCE, LINE].includes(gaps[n])))
    return [0, ...ends].flatMap((start, n) => {
      const end = ends[n] ?? odds.length, run = text.slice(start && spans[start][0], spans[end]?.[0])
      const isTalk = states[start] && odds.slice(start, end).reduce((a, b) => a + b) / (end - start) > talk.sureOdds
      return splitSentences(ends.length ? strip(run) : run).filter((part) => !ends.length || isAlphanumeric(part)).map((part) => ({ part, isTalk }))
    })
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
    const parts = splitParts(typed), asked = parts.filter(({ isTalk }) => !isTalk), isDivided = asked.length && asked.length < parts.length
    const every = isDivided ? asked.map(({ part }) => part) : splitSentences(typed), whole = every.join(" "), texts = [whole], collapsed = splitWords(typed).join(" ")
    if (every.length > 1) texts.push(...findAsking(every).filter((sentence) => sentence !== whole))
    if (collapsed !== whole && countTerms(whole) < readings.minTerms) texts.push(collapsed)
    return texts.map((text) => isUpper(text) && text.includes(" ") ? text.toLowerCase() : text)
  }
  // How far the score for a sentence raises that for the whole.
  const weigh = (text) => Math.min(1, countTerms(text) / readings.clearTerms)
  return { findReadings, weigh }
}
