// `requirements.ts`: what conformance asks of servers and of clients, as data.
import type { Contract } from '../documents/contract.ts'
import { listOf, mapOf } from '../documents/json-pointer.ts'
import { toLiteral } from './typescript-source.ts'

export function emitRequirements({ requirements }: Contract): string {
  const entries = (side: string) =>
    listOf(requirements[side])
      .map((value) => {
        const { id = null, rule = null, source = null, mutation = null } = mapOf(value)
        return `  ${toLiteral({ id, rule, source, mutation })},\n`
      })
      .join('')
  return `/** One rule of the contract, as it is judged from outside. */
export interface Requirement<Id extends string = string> {
  readonly id: Id
  /** The rule, restated. */
  readonly rule: string
  /** Where the contract says so. */
  readonly source: string
  /** The defect that breaks it. */
  readonly mutation: string | null
}

/** What is asked of a server. */
export const serverRequirements = [
${entries('server')}] as const satisfies readonly Requirement[]

export type ServerRequirementId = (typeof serverRequirements)[number]['id']

/** What is asked of a client. */
export const clientRequirements = [
${entries('client')}] as const satisfies readonly Requirement[]

export type ClientRequirementId = (typeof clientRequirements)[number]['id']
`
}
