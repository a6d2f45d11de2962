// What a job with very much to remember has in memory: its values stay in their pages until they are asked for.
import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { test } from 'node:test'
import { removeJournal } from '../../src/db/job-removal.ts'
import type { Store } from '../../src/db/store.ts'
import { Later } from '../../src/jobs/later.ts'
import { JobMemory } from '../../src/jobs/memory.ts'
import { SpilledValues } from '../../src/jobs/spilled-values.ts'
import type { MemoryTools } from '../../src/jobs/spilling.ts'
import { systemPlatform } from '../../src/platform.ts'
import { finish } from '../../src/time-slices.ts'
import { Vault } from '../../src/vault/vault.ts'
import { temporaryFolder } from '../helpers/server.ts'
import { openStore } from '../helpers/store.ts'

const KEY = 7
const COUNT = 100
const textOf = (at: number) => `${at} ${'x'.repeat(200_000)}`
const nameOf = (at: number) => `"${at}"`
const all = Array.from({ length: COUNT }, (_, at) => at)

/** A job that remembers 20 MB, in values of which none gets a file. */
async function written(store: Store, tools: MemoryTools): Promise<void> {
  const memory = JobMemory.fresh(tools, KEY, { a: 1 })
  for (const at of all) {
    memory.stage(['start', nameOf(at)])
    if (at % 4 === 0) memory.stage(['item', nameOf(at), { output: textOf(at) }])
    if (at % 4 === 1) memory.stage(['end', nameOf(at), { outputs: { output: textOf(at) } }])
    if (at % 4 === 2) memory.stage(['step', nameOf(at), 'step', { call: 1, begun: true }])
    if (at % 4 === 2) memory.stage(['done', nameOf(at), 'step', textOf(at)])
    if (at % 4 === 3) memory.stage(['answer', nameOf(at), textOf(at)])
  }
  assert.equal(memory.spill(AbortSignal.timeout(60_000)), null)
  await store.write((tx) => memory.write(tx, 1, memory.staged))
  memory.written()
}

async function withTools(work: (store: Store, tools: MemoryTools) => Promise<void>): Promise<void> {
  const data_dir = temporaryFolder()
  try {
    await using opened = await openStore()
    await using spilled = new SpilledValues(data_dir, opened.store, systemPlatform())
    await work(opened.store, { cipher: new Vault(Buffer.alloc(32, 1)).cipher('journal'), spilled })
  } finally {
    rmSync(data_dir, { recursive: true, force: true })
  }
}

function remembered(memory: JobMemory, at: number): unknown {
  const { items, end, steps, answer } = memory.firings.get(nameOf(at))!
  return [items[0], end, steps.get('step')?.end?.value, answer?.value][at % 4]
}

test('a job that remembers very much has little of it in memory, and finds each value where it lies', () =>
  withTools(async (store, tools) => {
    await written(store, tools)
    const memory = finish(JobMemory.loadSteps(store, tools, KEY))!
    const inMemory = all.filter((at) => !(remembered(memory, at) instanceof Later))
    assert.ok(inMemory.length > 0 && inMemory.length < 25, `${inMemory.length} values are in memory`)
    // In another order than they were written in.
    for (const at of all.toReversed()) {
      const steps = memory.readSteps(nameOf(at))
      if (steps) finish(steps)
      const { items, end, steps: known, answer } = memory.recall(nameOf(at))!
      const output = textOf(at)
      const expected = [{ output }, { outputs: { output } }, output, output][at % 4]
      assert.deepEqual([items[0], end, known.get('step')?.end?.value, answer?.value][at % 4], expected)
    }
  }))

test('what a job was sent in great number is left where it lies, in pages and in files', () =>
  withTools(async (store, tools) => {
    const memory = JobMemory.fresh(tools, KEY, {})
    const long = (at: number) => textOf(at).repeat(at % 2 === 0 ? 1 : 3)
    for (const at of all) memory.stage(['push', 'in', long(at)])
    await memory.spill(AbortSignal.timeout(60_000))
    await store.write((tx) => memory.write(tx, 1, memory.staged))
    const { inputs } = finish(JobMemory.loadSteps(store, tools, KEY))!
    const values = inputs.map(([, , value]) => value)
    const inMemory = values.filter((value) => !(value instanceof Later))
    assert.ok(inMemory.length > 0 && inMemory.length < 60, `${inMemory.length} values are in memory`)
    for (const [at, value] of values.entries()) assert.ok(Later.now(value) === long(at), `value ${at}`)
  }))

test('a value whose page is gone meanwhile is missing, and not taken for another one', () =>
  withTools(async (store, tools) => {
    await written(store, tools)
    const memory = finish(JobMemory.loadSteps(store, tools, KEY))!
    await store.write((tx) => removeJournal(tx, KEY, 0))
    assert.throws(() => memory.recall(nameOf(COUNT - 1)), /is missing/)
  }))
