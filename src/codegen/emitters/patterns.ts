// Emits `patterns.ts`: the texts about values that do not match a pattern.
import type { Contract } from '../documents/contract.ts'
import { toLiteral } from './typescript-source.ts'

export function emitPatterns({ patterns }: Contract): string {
  const entries = Object.entries(patterns).map(([pattern, says]) => `  ${toLiteral(pattern)}: ${toLiteral(says)},\n`)
  return `/** The sentence about a text that does not match, by pattern. */
export const patternSentences: Readonly<Record<string, string>> = {
${entries.join('')}}
`
}
