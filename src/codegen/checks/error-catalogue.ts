// The error catalogue's shape: UPPER_SNAKE codes with a status, a type of their own, whether a retry may help, and a message.
import type { ContractProblem } from '../documents/contract-problems.ts'
import { appendToPointer, type JsonMap, mapOf } from '../documents/json-pointer.ts'

export function checkErrorCatalogue(errors: JsonMap, file: string, problems: ContractProblem[]): void {
  const types = new Map<unknown, string>()
  for (const [code, value] of Object.entries(errors)) {
    const say = (message: string) => problems.push({ file, pointer: appendToPointer('', code), message })
    const { status, type, retryable, message, ...others } = mapOf(value)
    if (!/^[A-Z][A-Z0-9_]*$/.test(code)) say('is not UPPER_SNAKE')
    if (!Number.isInteger(status) || Number(status) < 400 || Number(status) > 599) say('has no error status')
    if (!/^[a-z][a-z0-9_]*$/.test(String(type))) say('has no snake_case type')
    if (types.has(type)) say(`has the type of ${types.get(type)}`)
    if (typeof retryable !== 'boolean') say('does not say whether it is retryable')
    if (typeof message !== 'string' || !message.endsWith('.')) say('has no message that is a sentence')
    if (Object.keys(others).length > 0) say(`has ${Object.keys(others).join(', ')}`)
    types.set(type, code)
  }
}
