// The README and the guide. Tests run their code blocks as printed.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'

const ROOT = new URL('../../', import.meta.url)

export function readReadme(): string {
  return readFileSync(new URL('README.md', ROOT), 'utf8')
}

/** Returns a page of the guide by its name, such as `models`. */
export function readGuidePage(name: string): string {
  return readFileSync(new URL(`spec/guide/${name}.md`, ROOT), 'utf8')
}

/** Returns the text below a heading, up to the next heading of the same or a higher level. */
export function readSection(page: string, title: string): string {
  const [, marks, rest] = new RegExp(`(?:^|\\n)(#+) ${title}\\n([\\s\\S]*)`).exec(page) ?? assert.fail(`no "${title}"`)
  return rest!.split(new RegExp(`\\n#{1,${marks!.length}} `))[0]!
}

/** Returns the code blocks of one language, in order. */
export function codeBlocks(page: string, language: string): string[] {
  return [...page.matchAll(new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``, 'g'))].map((match) => match[1]!)
}

/** Returns the first code block of one language. @throws AssertionError where there is none */
export function codeBlock(page: string, language: string): string {
  return codeBlocks(page, language)[0] ?? assert.fail(`no block of ${language}`)
}
