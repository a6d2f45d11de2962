// The id of a call of a node type contains the whole call as canonical JSON. Calls with the same values write them once.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SINGLE_NODE_PREFIX } from '../../../src/engine/node-api/services/tools.ts'
import { canonicalJson } from '../../../src/shared/json.ts'
import { formatNodeCallId, type NodeToolCall } from '../../../src/workflows/tools/node-call-graph.ts'

const CALL: NodeToolCall = {
  node_type: 'list.Sort',
  data: { list: [2, 1], by: 'a' },
  given: ['b'],
  outputs: ['output'],
}

test('the id is the canonical JSON of the call, with and without dynamic outputs', () => {
  for (const call of [CALL, { ...CALL, any: ['result'] }, { ...CALL, data: {} }])
    assert.equal(formatNodeCallId(call), SINGLE_NODE_PREFIX + canonicalJson(call))
})

test('values that many calls share are written once', () => {
  let reads = 0
  const data = {
    get list() {
      reads++
      return [2, 1]
    },
  }
  const ids = Array.from({ length: 64 }, (_, at) => formatNodeCallId({ ...CALL, data, given: [`b${at}`] }))
  assert.equal(new Set(ids).size, 64)
  const once = reads
  formatNodeCallId({ ...CALL, data })
  assert.equal(reads, once)
  assert.ok(once <= 2, `${once} reads`)
})
