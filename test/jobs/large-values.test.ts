// The texts of large results are made before their jobs end.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Assets } from '../../src/assets/assets.ts'
import type { TemporaryStore } from '../../src/assets/temporary.ts'
import type { JobTable } from '../../src/db/schema.ts'
import type { Plan } from '../../src/engine/plan.ts'
import { sha256 } from '../../src/hashes.ts'
import { LargeValues } from '../../src/jobs/large-values.ts'
import { Publication } from '../../src/jobs/publication.ts'
import { publisherWith } from '../../src/jobs/publisher.ts'
import { jsonText } from '../../src/json.ts'
import { knownText, textAround } from '../../src/json-steps.ts'
import { Redactor } from '../../src/redaction/redactor.ts'
import { TimeSlices } from '../../src/time-slices.ts'

/** Nothing is stored of texts. */
const NO_STORES = { assets: {} as Assets, temporary: {} as TemporaryStore }

function largeValues(plan: Plan) {
  const publisher = publisherWith(new Redactor([]), NO_STORES)
  const publication = new Publication({} as JobTable, plan, publisher)
  const slices = new TimeSlices()
  const writeEarly = async <T>(extras: T) => extras
  return { publication, large: new LargeValues({ plan, publication, publisher, slices, owner: 'owner', writeEarly }) }
}

test('the texts of parameters and outputs are known, also where a value is one long text', async () => {
  const text = 'a "text"\n'.repeat(50_000)
  const plan = {
    outputs: [
      { name: 'text', stream: false },
      { name: 'list', stream: true },
    ],
  } as unknown as Plan
  const { publication, large } = largeValues(plan)
  publication.add('node', 'text', text)
  publication.add('node', 'list', { text })
  await large.prepareResult({ in: text })
  const { inputs, outputs } = large.result!
  assert.deepEqual([inputs, outputs], [{ in: text }, { text, list: [{ text }] }])
  for (const part of [inputs, outputs]) assert.equal(knownText(part), jsonText(part))
  assert.equal(textAround({ outputs, provenance: { inputs } }), jsonText({ outputs, provenance: { inputs } }))
})

test('of parameters as much is repeated as fits, and the others are told by the size and the digest of their JSON', async () => {
  const { large } = largeValues({ outputs: [] } as unknown as Plan)
  const [text, list] = ['"'.repeat(400_000), Array(200_000).fill(1)]
  await large.prepareResult({ first: text, second: text, third: list, ['__proto__']: 1 })
  const described = (value: unknown) => {
    const json = JSON.stringify(value)
    return { type: 'document', content_type: 'application/json', size: json.length, sha256: sha256(json) }
  }
  const { inputs } = large.result!
  assert.deepEqual(Object.entries(inputs), [
    ['first', text],
    ['second', described(text)],
    ['third', described(list)],
    ['__proto__', 1],
  ])
  assert.equal(knownText(inputs), jsonText(inputs))
})

test('an output is refused whose JSON has more bytes than one row may have, alone or with the others', async () => {
  const plan = { outputs: ['a', 'b'].map((name) => ({ name, stream: false })) } as unknown as Plan
  const { publication, large } = largeValues(plan)
  const control = (length: number) => '\u001f'.repeat(length)
  for (const value of [control(2_800_000), [control(2_800_000)], Array(1_200_000).fill('\u001f\u001f')]) {
    await large.prepare('node', 'a', value)
    assert.throws(() => large.take('a'), { type: 'too_large' })
  }
  for (const name of ['a', 'b']) {
    await large.prepare('node', name, control(2_700_000))
    publication.add('node', name, control(2_700_000), large.take(name))
  }
  await assert.rejects(large.prepareResult({}), { type: 'too_large' })
})
