// Splits Markdown into sections. Each begins at an ATX heading (`# Title`); headings inside code blocks do not count.

export interface MarkdownSection {
  /** In characters from the start of the text. `end` is behind the last character. */
  readonly start: number
  readonly end: number
  /** The section's own heading, after the headings above it. Empty before the first heading. */
  readonly headings: string[]
}

/** In characters. Longer headings are cut. */
const LONGEST_HEADING = 200

export function splitIntoSections(text: string): MarkdownSection[] {
  const sections: MarkdownSection[] = []
  const path: { level: number; title: string }[] = []
  let [start, fence, headings] = [0, '', [] as string[]]
  const end = (at: number) => {
    if (at > start) sections.push({ start, end: at, headings })
    start = at
  }
  for (let at = 0; at < text.length; ) {
    const next = text.indexOf('\n', at)
    const line = text.slice(at, next < 0 ? text.length : next)
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1]
    if (fence !== '') fence = mark?.startsWith(fence) && line.trim() === mark ? '' : fence
    else if (mark) fence = mark
    else {
      const level = /^ {0,3}(#{1,6})(?:[ \t]|\r?$)/.exec(line)?.[1]?.length
      if (level !== undefined) {
        end(at)
        while ((path.at(-1)?.level ?? 0) >= level) path.pop()
        path.push({ level, title: readTitle(line) })
        headings = path.map(({ title }) => title)
      }
    }
    at = next < 0 ? text.length : next + 1
  }
  end(text.length)
  return sections
}

function readTitle(line: string): string {
  return line
    .trim()
    .replace(/^#+/, '')
    .replace(/[ \t]#+$/, '')
    .trim()
    .slice(0, LONGEST_HEADING)
}
