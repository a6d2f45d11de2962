// The texts of large results are made before their jobs end.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Assets } from '../../src/assets/assets.ts'
import type { TemporaryStore } from '../../src/assets/temporary.ts'
import type { JobTable } from '../../src/db/schema.ts'
import type { Plan } from '../../src/engine/plan.ts'
import { LargeValues } from '../../src/jobs/large-values.ts'
import { Publication } from '../../src/jobs/publication.ts'
import { publisherWith } from '../../src/jobs/publisher.ts'
import { jsonText } from '../../src/json.ts'
import { knownText, textAround } from '../../src/json-steps.ts'
import { Redactor } from '../../src/redaction/redactor.ts'
import { TimeSlices } from '../../src/time-slices.ts'

/** Nothing is stored of texts. */
const NO_STORES = { assets: {} as Assets, temporary: {} as TemporaryStore }

test('the texts of parameters and outputs are known, also where a value is one long text', async () => {
  const text = 'a "text"\n'.repeat(100_000)
  const plan = {
    outputs: [
      { name: 'text', stream: false },
      { name: 'list', stream: true },
    ],
  } as unknown as Plan
  const publisher = publisherWith(new Redactor([]), NO_STORES)
  const publication = new Publication({} as JobTable, plan, publisher)
  publication.add('node', 'text', text)
  publication.add('node', 'list', { text })
  const large = new LargeValues({
    plan,
    publication,
    publisher,
    slices: new TimeSlices(),
    owner: 'owner',
    writeEarly: async (extras) => extras,
  })
  await large.prepareResult({ in: text })
  const { inputs, outputs } = large.result!
  assert.deepEqual([inputs, outputs], [{ in: text }, { text, list: [{ text }] }])
  for (const part of [inputs, outputs]) assert.equal(knownText(part), jsonText(part))
  assert.equal(textAround({ outputs, provenance: { inputs } }), jsonText({ outputs, provenance: { inputs } }))
})
