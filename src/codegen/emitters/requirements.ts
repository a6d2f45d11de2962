// Emits `requirements.ts`: the requirements of conformance for servers and for clients, as data.
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
  return `/** A rule of the contract that a conformance suite can check from outside. */
export interface Requirement<Id extends string = string> {
  readonly id: Id
  /** The rule, restated. */
  readonly rule: string
  /** The part of the contract that states the rule. */
  readonly source: string
  /** The defect that breaks it. */
  readonly mutation: string | null
}

/** The requirements for servers. */
export const serverRequirements = [
${entries('server')}] as const satisfies readonly Requirement[]

export type ServerRequirementId = (typeof serverRequirements)[number]['id']

/** The requirements for clients. */
export const clientRequirements = [
${entries('client')}] as const satisfies readonly Requirement[]

export type ClientRequirementId = (typeof clientRequirements)[number]['id']
`
}
