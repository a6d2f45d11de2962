// The README and the guide, whose code blocks tests run as printed.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'

const ROOT = new URL('../../', import.meta.url)

export function readReadme(): string {
  return readFileSync(new URL('README.md', ROOT), 'utf8')
}

/** A page of the guide by its name, such as `models`. */
export function readGuidePage(name: string): string {
  return readFileSync(new URL(`spec/guide/${name}.md`, ROOT), 'utf8')
}

/** What stands below the heading with that title, up to the next heading of the same level or a higher one. */
export function readSection(page: string, title: string): string {
  const [, marks, rest] = new RegExp(`(?:^|\\n)(#+) ${title}\\n([\\s\\S]*)`).exec(page) ?? assert.fail(`no "${title}"`)
  return rest!.split(new RegExp(`\\n#{1,${marks!.length}} `))[0]!
}

/** The code blocks of one language, in order. */
export function codeBlocks(page: string, language: string): string[] {
  return [...page.matchAll(new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``, 'g'))].map((match) => match[1]!)
}

/** The first code block of one language. @throws AssertionError if there is none */
export function codeBlock(page: string, language: string): string {
  return codeBlocks(page, language)[0] ?? assert.fail(`no block of ${language}`)
}
