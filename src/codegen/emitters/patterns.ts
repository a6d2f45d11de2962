// `patterns.ts`: what is said of a text that does not fit a pattern.
import type { Contract } from '../documents/contract.ts'
import { toLiteral } from './typescript-source.ts'

export function emitPatterns({ patterns }: Contract): string {
  const entries = Object.entries(patterns).map(([pattern, says]) => `  ${toLiteral(pattern)}: ${toLiteral(says)},\n`)
  return `/** What is said of a text that does not fit, by pattern. */
export const patternSentences: Readonly<Record<string, string>> = {
${entries.join('')}}
`
}
