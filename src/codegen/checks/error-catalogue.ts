// Checks the error catalogue: UPPER_SNAKE codes with a status, a unique type, a retryable flag and a message.
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
    if (typeof message !== 'string' || !message.endsWith('.')) say('must have a message that ends with a full stop')
    if (Object.keys(others).length > 0) say(`has the unknown fields ${Object.keys(others).join(', ')}`)
    types.set(type, code)
  }
}
