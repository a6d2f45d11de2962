// The rules for `requirements.yaml`: what it restates of the contract, for servers and for clients.
import type { ContractProblem } from './problems.ts'
import { child, isMap, type Json, type JsonMap } from './tree.ts'

/** The texts that a requirement of each side must have; a client's may name a mutation too. */
const TEXTS = { server: ['rule', 'source', 'mutation'], client: ['rule', 'source'] } as const
const SENTENCES = ['rule', 'mutation']
const KNOWN = ['id', 'rule', 'source', 'mutation']
const IDS = {
  server: /^server\.[a-z][a-z0-9]*(-[a-z0-9]+)*\.[a-z0-9]+(-[a-z0-9]+)*$/,
  client: /^client\.[a-z0-9]+(-[a-z0-9]+)*$/,
}

type Side = keyof typeof TEXTS

/** Says what is wrong with the requirements, and where. */
export function checkRequirements(requirements: JsonMap, file: string, problems: ContractProblem[]): void {
  for (const [side, list] of Object.entries(requirements)) {
    const pointer = child('', side)
    if (!(side in TEXTS)) problems.push({ file, pointer, message: 'is no side that is judged' })
    else if (!Array.isArray(list)) problems.push({ file, pointer, message: 'is not a list' })
    else
      checkSide(list, side as Side, (index, message) =>
        problems.push({ file, pointer: child(pointer, index), message }),
      )
  }
}

function checkSide(list: readonly Json[], side: Side, say: (index: number, message: string) => void): void {
  const ids = new Set<Json>()
  for (const [index, requirement] of list.entries()) {
    if (!isMap(requirement)) {
      say(index, 'is not a map')
      continue
    }
    const { id = null } = requirement
    if (typeof id !== 'string' || !IDS[side].test(id)) say(index, `has no id of a ${side}'s`)
    else if (ids.has(id)) say(index, `has the id of another, ${id}`)
    ids.add(id)
    for (const problem of textProblems(requirement, side)) say(index, problem)
  }
}

function textProblems(requirement: JsonMap, side: Side): string[] {
  const missing = TEXTS[side].filter((key) => typeof requirement[key] !== 'string' || requirement[key] === '')
  const cut = SENTENCES.filter((key) => typeof requirement[key] === 'string' && !requirement[key].endsWith('.'))
  const others = Object.keys(requirement).filter((key) => !KNOWN.includes(key))
  return [
    ...missing.map((key) => `has no ${key}`),
    ...cut.map((key) => `has a ${key} that is no sentence`),
    ...others.map((key) => `has ${key}`),
  ]
}
