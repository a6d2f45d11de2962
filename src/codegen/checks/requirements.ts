// Checks `requirements.yaml`, which restates the contract's rules for servers and for clients.
import type { ContractProblem } from '../documents/contract-problems.ts'
import { appendToPointer, isMap, type Json, type JsonMap } from '../documents/json-pointer.ts'

/** The required texts of each side. A client requirement may have a mutation as well. */
const REQUIRED_TEXTS = { server: ['rule', 'source', 'mutation'], client: ['rule', 'source'] } as const
const SENTENCES = ['rule', 'mutation']
const KNOWN_FIELDS = ['id', 'rule', 'source', 'mutation']
const ID_PATTERNS = {
  server: /^server\.[a-z][a-z0-9]*(-[a-z0-9]+)*\.[a-z0-9]+(-[a-z0-9]+)*$/,
  client: /^client\.[a-z0-9]+(-[a-z0-9]+)*$/,
}

type RequirementSide = keyof typeof REQUIRED_TEXTS

export function checkRequirements(requirements: JsonMap, file: string, problems: ContractProblem[]): void {
  for (const [side, list] of Object.entries(requirements)) {
    const pointer = appendToPointer('', side)
    if (!(side in REQUIRED_TEXTS)) problems.push({ file, pointer, message: 'is neither `server` nor `client`' })
    else if (!Array.isArray(list)) problems.push({ file, pointer, message: 'is not a list' })
    else
      checkSide(list, side as RequirementSide, (index, message) =>
        problems.push({ file, pointer: appendToPointer(pointer, index), message }),
      )
  }
}

function checkSide(list: readonly Json[], side: RequirementSide, say: (index: number, message: string) => void): void {
  const ids = new Set<Json>()
  for (const [index, requirement] of list.entries()) {
    if (!isMap(requirement)) {
      say(index, 'is not a map')
      continue
    }
    const { id = null } = requirement
    if (typeof id !== 'string' || !ID_PATTERNS[side].test(id)) say(index, `has no valid id of a ${side} requirement`)
    else if (ids.has(id)) say(index, `has the id ${id} of another requirement`)
    ids.add(id)
    for (const problem of findTextProblems(requirement, side)) say(index, problem)
  }
}

function findTextProblems(requirement: JsonMap, side: RequirementSide): string[] {
  const missing = REQUIRED_TEXTS[side].filter((key) => typeof requirement[key] !== 'string' || requirement[key] === '')
  const cut = SENTENCES.filter((key) => typeof requirement[key] === 'string' && !requirement[key].endsWith('.'))
  const others = Object.keys(requirement).filter((key) => !KNOWN_FIELDS.includes(key))
  return [
    ...missing.map((key) => `has no ${key}`),
    ...cut.map((key) => `has a ${key} that does not end with a full stop`),
    ...others.map((key) => `has ${key}`),
  ]
}
