// The gate of requirements: every rule of the lifecycle profile that concerns the wire is restated by requirements, every requirement of a
// server is verified by a check and names a mutation, and what is wrong with the list is told.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { clientRequirements, serverRequirements } from '../../generated/requirements.ts'
import { serverChecks } from '../../src/conformance/server/checks.ts'
import { RULES } from './rules-of-the-profile.ts'
import { readSmallContract } from './small-contract.ts'

const IDS = new Set<string>([...serverRequirements, ...clientRequirements].map(({ id }) => id))

describe('every rule of the lifecycle profile', () => {
  for (const [chapter, rules] of Object.entries(RULES)) {
    test(`${chapter}: has requirements that exist`, () => {
      const lost = Object.entries(rules).flatMap(([rule, ids]) => {
        const unknown = (ids as readonly string[]).filter((id) => !IDS.has(id))
        return ids.length === 0 || unknown.length > 0 ? [`${rule}: ${unknown.join(', ') || 'nothing'}`] : []
      })
      assert.deepEqual(lost, [])
    })
  }

  test('would be missed if it had none', () => {
    const named = new Set(Object.values(RULES).flatMap((rules) => Object.values(rules).flat()))
    assert.ok(named.size >= 100, String(named.size))
    assert.ok(!named.has('server.events.unknown' as never))
  })
})

describe('every requirement of a server', () => {
  test('is verified by a check of its id, and no check is left over', () => {
    assert.deepEqual(Object.keys(serverChecks).sort(), serverRequirements.map(({ id }) => id).sort())
    for (const check of Object.values(serverChecks)) assert.equal(typeof check, 'function')
  })

  test('names the rule, its source and a mutation of its own', () => {
    const mutations = serverRequirements.map(({ id, mutation }) => ({ id, mutation: mutation.trim() }))
    assert.deepEqual(
      mutations.filter(({ mutation }) => mutation.length < 10),
      [],
    )
    const rules = new Set(serverRequirements.map(({ rule }) => rule))
    assert.equal(rules.size, serverRequirements.length)
  })

  test('and of a client has an id of its own', () => {
    assert.equal(IDS.size, serverRequirements.length + clientRequirements.length)
  })
})

const GOOD = { id: 'server.area.rule', rule: 'It is so.', source: 'a section', mutation: 'It is not so.' }

describe('the list of requirements is refused', () => {
  const cases: Readonly<Record<string, [unknown, string]>> = {
    'with another side': [{ judge: [] }, 'requirements.yaml#/judge: is neither `server` nor `client`'],
    'that is no list': [{ server: {} }, 'requirements.yaml#/server: is not a list'],
    'with something that is no map': [{ server: [1] }, 'requirements.yaml#/server/0: is not a map'],
    'with an id of the other side': [
      { client: [{ ...GOOD, id: 'server.area.rule' }] },
      'requirements.yaml#/client/0: has no valid id of a client requirement',
    ],
    'with an id twice': [
      { server: [GOOD, GOOD] },
      'requirements.yaml#/server/1: has the id server.area.rule of another requirement',
    ],
    'without a mutation': [{ server: [{ ...GOOD, mutation: '' }] }, 'requirements.yaml#/server/0: has no mutation'],
    'with a rule that is no sentence': [
      { server: [{ ...GOOD, rule: 'so it is' }] },
      'requirements.yaml#/server/0: has a rule that does not end with a full stop',
    ],
    'with another key': [{ server: [{ ...GOOD, weight: 1 }] }, 'requirements.yaml#/server/0: has weight'],
  }
  for (const [name, [list, problem]] of Object.entries(cases)) {
    test(name, () => {
      assert.ok(problemsOf(list).includes(problem), problemsOf(list).join('\n'))
    })
  }

  test('and taken where it is good', () => {
    const client = { id: 'client.rule', rule: 'It is so.', source: 'a section' }
    assert.deepEqual(problemsOf({ server: [GOOD], client: [client] }), [])
  })
})

function problemsOf(list: unknown): string[] {
  return readSmallContract(['requirements.yaml', '', JSON.stringify(list)]).problems
}
