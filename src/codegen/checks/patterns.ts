// Checks the texts about patterns: a schema uses each pattern, and the text says what a value must be.
import type { ContractProblem } from '../documents/contract-problems.ts'
import { appendToPointer, isMap, type Json, type JsonMap } from '../documents/json-pointer.ts'

export function checkPatterns(
  patterns: JsonMap,
  documents: readonly JsonMap[],
  file: string,
  problems: ContractProblem[],
): void {
  const known = new Set<string>()
  for (const document of documents) collectPatterns(document, known)
  for (const [pattern, says] of Object.entries(patterns)) {
    const say = (message: string) => problems.push({ file, pointer: appendToPointer('', pattern), message })
    if (!known.has(pattern)) say('is in no schema')
    if (typeof says !== 'string' || !says.startsWith('must '))
      say('must say what the text must be, and begin with "must"')
  }
}

function collectPatterns(value: Json | undefined, known: Set<string>): void {
  if (Array.isArray(value)) for (const member of value) collectPatterns(member, known)
  if (!isMap(value)) return
  if (typeof value.pattern === 'string') known.add(value.pattern)
  for (const member of Object.values(value)) collectPatterns(member, known)
}
