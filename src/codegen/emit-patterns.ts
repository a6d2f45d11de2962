// `patterns.ts`: what is said of a text that does not fit a pattern.
import type { Contract } from './contract.ts'
import { literal } from './text.ts'

export function emitPatterns({ patterns }: Contract): string {
  const entries = Object.entries(patterns).map(([pattern, says]) => `  ${literal(pattern)}: ${literal(says)},\n`)
  return `/** What is said of a text that does not fit, by pattern. */
export const patternSentences: Readonly<Record<string, string>> = {
${entries.join('')}}
`
}
