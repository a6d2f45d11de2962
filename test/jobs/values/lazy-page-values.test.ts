// Memory of jobs with very large journals: values stay in their pages until they are needed.
import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { deleteCompletedJournal } from '../../../src/db/jobs/removal.ts'
import type { Store } from '../../../src/db/store.ts'
import { UnreadValue } from '../../../src/engine/durability/journal.ts'
import type { OutputValues } from '../../../src/engine/node-api/firing-forms.ts'
import type { NodeType } from '../../../src/engine/node-api/node-type.ts'
import { JobJournal } from '../../../src/jobs/journal/job-journal.ts'
import type { JournalStorage } from '../../../src/jobs/journal/page-writer.ts'
import { LazyValue } from '../../../src/jobs/values/lazy-value.ts'
import { SpilledValueStore } from '../../../src/jobs/values/spilled-value-store.ts'
import { systemPlatform } from '../../../src/platform.ts'
import { runToCompletion } from '../../../src/shared/time-slices.ts'
import { Vault } from '../../../src/vault/vault.ts'
import { graph, item, node, output, sink, testType, value } from '../../engine/kit.ts'
import { inFolder } from '../../helpers/folder.ts'
import { PATIENCE_MS } from '../../helpers/patience.ts'
import { temporaryFolder, until } from '../../helpers/server.ts'
import { openStore } from '../../helpers/store.ts'
import { ended, outputs, startGated, submit } from '../kit.ts'

const KEY = 7
const COUNT = 100
const textOf = (at: number) => `${at} ${'x'.repeat(200_000)}`
const nameOf = (at: number) => `"${at}"`
const all = Array.from({ length: COUNT }, (_, at) => at)

/** A journal of 20 MB, in values that are too small for files. */
async function written(store: Store, tools: JournalStorage): Promise<void> {
  const memory = JobJournal.createEmpty(tools, KEY, { a: 1 })
  for (const at of all) {
    memory.stage(['start', nameOf(at)])
    if (at % 4 === 0) memory.stage(['item', nameOf(at), { output: textOf(at) }])
    if (at % 4 === 1) memory.stage(['end', nameOf(at), { outputs: { output: textOf(at) } }])
    if (at % 4 === 2) memory.stage(['step', nameOf(at), 'step', { call: 1, begun: true }])
    if (at % 4 === 2) memory.stage(['done', nameOf(at), 'step', textOf(at)])
    if (at % 4 === 3) memory.stage(['answer', nameOf(at), textOf(at)])
  }
  assert.equal(memory.spill(AbortSignal.timeout(60_000)), null)
  await store.write((tx) => memory.write(tx, 1, memory.stagedCount))
  memory.markCommitted()
}

async function withTools(work: (store: Store, tools: JournalStorage) => Promise<void>): Promise<void> {
  const data_dir = temporaryFolder()
  try {
    await using opened = await openStore()
    await using spilled = new SpilledValueStore(data_dir, opened.store, systemPlatform())
    await work(opened.store, { cipher: new Vault(Buffer.alloc(32, 1)).cipher('journal'), spilled })
  } finally {
    rmSync(data_dir, { recursive: true, force: true })
  }
}

function remembered(memory: JobJournal, at: number): unknown {
  const { items, end, steps, answer } = memory.firings.get(nameOf(at))!
  return [items[0], end, steps.get('step')?.end?.value, answer?.value][at % 4]
}

test('a job with a very large journal has little of it in memory, and reads each value from its page', () =>
  withTools(async (store, tools) => {
    await written(store, tools)
    const memory = runToCompletion(JobJournal.loadSteps(store, tools, KEY))!
    const inMemory = all.filter((at) => !(remembered(memory, at) instanceof LazyValue))
    assert.ok(inMemory.length > 0 && inMemory.length < 25, `${inMemory.length} values are in memory`)
    // The values are read in another order than they were written.
    for (const at of all.toReversed()) {
      const steps = memory.readSteps(nameOf(at))
      if (steps) runToCompletion(steps)
      const { items, end, steps: known, answer } = memory.recall(nameOf(at))!
      const output = textOf(at)
      const expected = [{ output }, { outputs: { output } }, output, output][at % 4]
      assert.deepEqual(
        [UnreadValue.read(items[0]), end, known.get('step')?.end?.value, answer?.value][at % 4],
        expected,
      )
    }
  }))

test('very many inputs of a job stay in pages and files', () =>
  withTools(async (store, tools) => {
    const memory = JobJournal.createEmpty(tools, KEY, {})
    const long = (at: number) => textOf(at).repeat(at % 2 === 0 ? 1 : 3)
    for (const at of all) memory.stage(['push', 'in', long(at)])
    await memory.spill(AbortSignal.timeout(60_000))
    await store.write((tx) => memory.write(tx, 1, memory.stagedCount))
    const { inputs } = runToCompletion(JobJournal.loadSteps(store, tools, KEY))!
    const values = inputs.values.map(([, , value]) => value)
    const inMemory = values.filter((value) => !(value instanceof LazyValue))
    assert.ok(inMemory.length > 0 && inMemory.length < 60, `${inMemory.length} values are in memory`)
    for (const [at, value] of values.entries()) assert.ok(LazyValue.resolve(value) === long(at), `value ${at}`)
  }))

test('most of very many items of a stream stay in pages and files', () =>
  withTools(async (store, tools) => {
    const memory = JobJournal.createEmpty(tools, KEY, {})
    const long = (at: number) => textOf(at).repeat(at % 2 === 0 ? 1 : 3)
    for (const at of all) memory.stage(['item', '', { output: long(at) }])
    await memory.spill(AbortSignal.timeout(60_000))
    await store.write((tx) => memory.write(tx, 1, memory.stagedCount))
    const loaded = runToCompletion(JobJournal.loadSteps(store, tools, KEY))!
    runToCompletion(loaded.readSteps('')!)
    const { items } = loaded.recall('')!
    const inMemory = items.filter((value) => !(value instanceof UnreadValue))
    assert.ok(inMemory.length > 0 && inMemory.length < 60, `${inMemory.length} items are in memory`)
    for (const [at, item] of items.entries()) assert.ok(UnreadValue.read(item).output === long(at), `item ${at}`)
  }))

/** Texts of a stream that hangs before the text `hangs_at`. Each text is processed once, and `end` comes after all of them. */
class Texts {
  hangs_at: number
  runs = 0

  constructor(hangs_at: number) {
    this.hangs_at = hangs_at
  }

  async *#items(signal: AbortSignal): AsyncGenerator<OutputValues> {
    for (const at of all) {
      await pause(1)
      if (at === this.hangs_at) await pause(PATIENCE_MS, null, { signal })
      yield { item: textOf(at) }
    }
    if (this.hangs_at === COUNT) await pause(PATIENCE_MS, null, { signal })
  }

  get types(): NodeType[] {
    const work = async (text: unknown) => {
      this.runs++
      await pause(1)
      return { output: (text as string).split(' ')[0] }
    }
    return [
      testType('test.Texts', { outputs: [item], repeats: true, run: (_, { signal }) => this.#items(signal) }),
      testType('test.Work', {
        properties: [value],
        outputs: [output],
        retry_safe: false,
        run: ({ value: text }) => work(text),
      }),
    ]
  }
}

const TEXTS = graph(
  [node('texts', 'test.Texts'), node('work', 'test.Work'), node('list', 'control.Collect'), sink('out')],
  ['texts.item->work.value', 'work.output->list.item', 'list.list->out.value'],
)

for (const hangs_at of [60, COUNT])
  test(`a job continues after the first ${hangs_at} items of its stream, which are more than it keeps in memory`, () =>
    inFolder(async (data_dir) => {
      const texts = new Texts(hangs_at)
      let id = ''
      {
        await using server = await startGated({ data_dir, types: texts.types })
        const job = submit(server, { graph: TEXTS })
        id = job.row.id
        await until('all that come to be worked on', () => texts.runs === hangs_at)
        await job.flushed()
      }
      texts.hangs_at = -1
      await using server = await startGated({ data_dir, types: texts.types })
      assert.deepEqual(outputs(await ended(server, id)), { out: all.map(String) })
      assert.equal(texts.runs, COUNT)
    })())

test('a value whose page was removed meanwhile is missing, and not taken for another value', () =>
  withTools(async (store, tools) => {
    await written(store, tools)
    const memory = runToCompletion(JobJournal.loadSteps(store, tools, KEY))!
    await store.write((tx) => deleteCompletedJournal(tx, KEY, 0))
    assert.throws(() => memory.recall(nameOf(COUNT - 1)), /is missing/)
  }))
