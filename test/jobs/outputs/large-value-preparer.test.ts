// The JSON texts of large results are made before their jobs end.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ResultManifest } from '../../../generated/types.ts'
import type { AssetStore } from '../../../src/assets/asset-store.ts'
import type { TemporaryStore } from '../../../src/assets/temporary/store.ts'
import type { JobTable } from '../../../src/db/tables/jobs.ts'
import type { Plan } from '../../../src/engine/compile/compiler.ts'
import { LargeValuePreparer } from '../../../src/jobs/outputs/large-value-preparer.ts'
import { OutputPublication } from '../../../src/jobs/outputs/publication.ts'
import { createOutputPublisher } from '../../../src/jobs/outputs/publisher.ts'
import { Redactor } from '../../../src/redaction/redactor.ts'
import { sha256 } from '../../../src/shared/hashes.ts'
import { cachedJsonText } from '../../../src/shared/incremental-json.ts'
import { stringifyWithBase64 } from '../../../src/shared/json.ts'
import { TimeSliceScheduler } from '../../../src/shared/time-slices.ts'

/** A publisher that stores no texts. */
const NO_STORES = { assets: {} as AssetStore, temporary: {} as TemporaryStore }

function largeValues(plan: Plan) {
  const publisher = createOutputPublisher(new Redactor([]), NO_STORES)
  const publication = new OutputPublication({} as JobTable, plan, publisher)
  const slices = new TimeSliceScheduler()
  const stored: (readonly string[])[] = []
  const large = new LargeValuePreparer({
    plan,
    publication,
    publisher,
    slices,
    owner: 'owner',
    writeEarly: async (extras) => extras,
    manifest: ({ inputs, outputs }) => ({ outputs, provenance: { inputs } }) as unknown as ResultManifest,
    writeResult: async (parts) => void stored.push(parts),
  })
  return { publication, large, stored }
}

test('the JSON texts of parameters and outputs are cached, even where a value is one long text', async () => {
  const text = 'a "text"\n'.repeat(50_000)
  const plan = {
    outputs: [
      { name: 'text', stream: false },
      { name: 'list', stream: true },
    ],
  } as unknown as Plan
  const { publication, large, stored } = largeValues(plan)
  publication.add('node', 'text', text)
  publication.add('node', 'list', { text })
  await large.prepareResult({ in: text })
  const result = large.result!
  assert.deepEqual(result.outputs, { text, list: [{ text }] })
  assert.equal(cachedJsonText(result.outputs), stringifyWithBase64(result.outputs))
  assert.equal(result.text, stringifyWithBase64({ outputs: result.outputs, provenance: { inputs: { in: text } } }))
  // A result of more than a million characters is stored in parts.
  assert.deepEqual([result.parts, stored.map((parts) => parts.join(''))], [2, [result.text]])
})

test('parameters are repeated as far as they fit, and the others are shown by the size and digest of their JSON', async () => {
  const { large, stored } = largeValues({ outputs: [] } as unknown as Plan)
  const [text, list] = ['"'.repeat(400_000), Array(200_000).fill(1)]
  await large.prepareResult({ first: text, second: text, third: list, ['__proto__']: 1 })
  const described = (value: unknown) => {
    const json = JSON.stringify(value)
    return { type: 'document', content_type: 'application/json', size: json.length, sha256: sha256(json) }
  }
  const shown = [
    ['first', text],
    ['second', described(text)],
    ['third', described(list)],
    ['__proto__', 1],
  ]
  const inputs = `{${shown.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`).join(',')}}`
  assert.equal(large.result!.text, `{"outputs":{},"provenance":{"inputs":${inputs}}}`)
  assert.deepEqual([large.result!.parts, stored], [null, []])
})

test('an output is refused where its JSON, alone or with the other outputs, has more bytes than one row may have', async () => {
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
