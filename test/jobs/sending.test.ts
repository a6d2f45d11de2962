// Inputs that are sent to a queued or running job are not lost once they are acknowledged, even where the process is killed.
import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { describe, test } from 'node:test'
import type { ResultManifest } from '../../generated/types.ts'
import { listJobEventsOfType } from '../../src/db/jobs/events.ts'
import type { ActiveJob } from '../../src/jobs/active-job.ts'
import { value as given, graph, node, output, sink, testType } from '../engine/kit.ts'
import { inFolder } from '../helpers/folder.ts'
import { atRealSize } from '../helpers/scale.ts'
import { type TestServer, temporaryFolder, until } from '../helpers/server.ts'
import { ended, gated, journalBytes, OWNER, outputs, startGated, submit } from './kit.ts'

const streamed = graph(
  [
    node('in', 'input.String', { name: 'in', stream: true }),
    node('t', 'text.Concat', { a: 'a' }),
    node('all', 'control.Collect'),
    sink('out'),
    sink('told'),
  ],
  ['in.output->t.b', 't.output->all.item', 'all.list->out.value', 't.output->told.value'],
)

/** The stored values of the output that has each item as it comes. */
function told({ context: { store } }: TestServer, job_key: number): unknown[] {
  const events = store.read((tx) => listJobEventsOfType(tx, job_key, 'output_update', 0))
  return events
    .map(({ payload }) => JSON.parse(payload) as { output_name: string; value: unknown })
    .filter(({ output_name }) => output_name === 'told')
    .map(({ value }) => value)
}

/** Waits until a job runs, for example after a restart. */
function running(
  {
    context: {
      runs: { jobs },
    },
  }: TestServer,
  id: string,
): Promise<ActiveJob> {
  return until('the job to run', () => {
    const living = jobs.living(OWNER, id)
    return living?.row.status === 'running' && living
  })
}

describe('values and property changes that were sent to a job', () => {
  test('are complete and in order after a restart and in a retry, where they are too many for memory', {
    skip: atRealSize,
  }, async () => {
    const data_dir = temporaryFolder()
    const counted = graph(
      [
        node('in', 'input.String', { name: 'in', stream: true }),
        node('hash', 'test.Ends'),
        node('all', 'control.Collect'),
        sink('out'),
      ],
      ['in.output->hash.value', 'hash.output->all.item', 'all.list->out.value'],
    )
    const ends = (text: string) => `${text.slice(0, 3)}${text.length}`
    const types = [
      testType('test.Ends', {
        properties: [given],
        outputs: [output],
        run: ({ value }) => ({ output: ends(String(value)) }),
      }),
    ]
    const values = Array.from({ length: 90 }, (_, at) => `${at + 100}${'x'.repeat(at % 2 === 0 ? 200_000 : 500_000)}`)
    try {
      let id: string
      {
        await using server = await startGated({ data_dir, types })
        const job = submit(server, { graph: counted, acceptsStreamInput: true })
        id = job.row.id
        await job.accepted()
        for (const text of values) {
          await until('it to be taken', () => job.inputs?.pushInput('in', text) === 'ok')
          await job.flushed()
        }
      }
      await using server = await startGated({ data_dir, types })
      const job = await running(server, id)
      await job.cancel()
      await ended(server, id)
      const { row } = await server.context.runs.jobs.retry(OWNER, id)
      const retried = await running(server, row.id)
      assert.equal(retried.inputs?.endInput('in'), 'ok')
      assert.deepEqual(outputs(await ended(server, row.id)), { out: values.map(ends) })
    } finally {
      rmSync(data_dir, { recursive: true, force: true })
    }
  })

  test('are in files of their own where they are large, and are there after a restart', async () => {
    const data_dir = temporaryFolder()
    const long = 'b'.repeat(300_000)
    try {
      let id: string
      {
        await using server = await startGated({ data_dir })
        const job = submit(server, { graph: streamed, acceptsStreamInput: true })
        id = job.row.id
        await job.accepted()
        assert.deepEqual(job.inputs?.updateProperties('t', { a: long }), ['a'])
        await job.flushed()
        assert.equal(job.inputs?.pushInput('in', '1'), 'ok')
        await until('a firing', () => told(server, job.row.key).length === 1)
        assert.ok(journalBytes(data_dir) < long.length)
      }
      await using server = await startGated({ data_dir })
      const job = await running(server, id)
      assert.equal(job.inputs?.pushInput('in', '2'), 'ok')
      assert.equal(job.inputs?.endInput('in'), 'ok')
      assert.deepEqual(Object.entries(outputs(await ended(server, id))).at(-1), ['told', [`${long}1`, `${long}2`]])
    } finally {
      rmSync(data_dir, { recursive: true, force: true })
    }
  })

  test(
    'are there after a restart where a former version stored the changed properties within the change',
    inFolder(async (data_dir) => {
      let id: string
      {
        await using server = await startGated({ data_dir })
        const job = submit(server, { graph: streamed, acceptsStreamInput: true })
        id = job.row.id
        await job.accepted()
        assert.equal(job.inputs?.pushInput('in', '1'), 'ok')
        await until('a firing', () => told(server, job.row.key).length === 1)
        const update = { node_id: 't', from: 1, properties: { a: 'b' } }
        job.remember(['update', update])
        await job.flushed()
      }
      await using server = await startGated({ data_dir })
      const job = await running(server, id)
      assert.equal(job.inputs?.pushInput('in', '2'), 'ok')
      assert.equal(job.inputs?.endInput('in'), 'ok')
      await job.settled()
      const { row } = await server.context.runs.jobs.get(OWNER, id)
      assert.deepEqual(outputs(row), { out: ['a1', 'b2'], told: ['a1', 'b2'] })
    }),
  )

  test(
    'that are large are applied a few at a time, and all of them are stored',
    inFolder(async (data_dir) => {
      await using server = await startGated({ data_dir })
      const job = submit(server, { graph: streamed, acceptsStreamInput: true })
      await job.accepted()
      let turn = 0
      const counting = setInterval(() => turn++, 0)
      const turns = new Set<number>()
      const inlet = job.inputs!
      const all = Array.from({ length: 12 }, (_, at) => {
        assert.deepEqual(inlet.updateProperties('t', { a: `${at}`.repeat(200_000) }), ['a'])
        return inlet.whenStored().then(() => turns.add(turn))
      })
      await job.flushed()
      await Promise.all(all)
      clearInterval(counting)
      assert.ok(turns.size > 2, `${turns.size}`)
    }),
  )

  test(
    'have a limit for the weight of all changes, even after a restart',
    inFolder(async (data_dir) => {
      const long = { a: 'b'.repeat(15_000_000) }
      let id: string
      {
        await using server = await startGated({ data_dir })
        const job = submit(server, { graph: streamed, acceptsStreamInput: true })
        id = job.row.id
        await job.accepted()
        const none = { other: long.a, of: long.a, these: long.a }
        assert.deepEqual(job.inputs?.updateProperties('t', none), [])
        for (const expected of [['a'], ['a'], 'full'])
          assert.deepEqual(job.inputs?.updateProperties('t', long), expected)
        await job.flushed()
      }
      await using server = await startGated({ data_dir })
      const job = await running(server, id)
      assert.equal(job.inputs?.updateProperties('t', long), 'full')
      assert.deepEqual(job.inputs?.updateProperties('t', { a: 'c' }), ['a'])
      assert.equal(job.inputs?.endInput('in'), 'ok')
      await job.settled()
    }),
  )

  for (const busy of [false, true]) {
    test(`are there after a restart, ${busy ? 'while it waited for its turn' : 'while it ran'}`, async () => {
      const data_dir = temporaryFolder()
      try {
        let id: string
        let before: number
        {
          await using server = await startGated({ data_dir, config: { max_concurrent_jobs: 1 } })
          if (busy) submit(server, { graph: gated })
          const job = submit(server, { graph: streamed, acceptsStreamInput: true })
          id = job.row.id
          await job.accepted()
          for (const value of ['1', '2', '3']) assert.equal(job.inputs?.pushInput('in', value), 'ok')
          await job.flushed()
          // The change applies to firings that have not begun when it is stored.
          if (!busy) await until('three firings', () => told(server, job.row.key).length === 3)
          before = told(server, job.row.key).length
          assert.deepEqual(job.inputs?.updateProperties('t', { a: 'b' }), ['a'])
          for (const value of ['4', '5']) assert.equal(job.inputs?.pushInput('in', value), 'ok')
          await job.flushed()
        }
        await using server = await startGated({ data_dir })
        const { jobs } = server.context.runs
        const job = await running(server, id)
        assert.equal(job.inputs?.pushInput('in', '6'), 'ok')
        assert.equal(job.inputs?.endInput('in'), 'ok')
        await job.settled()
        const { row } = await jobs.get(OWNER, id)
        const { outputs: given } = JSON.parse(row.result!) as ResultManifest
        const sent = ['1', '2', '3', '4', '5', '6']
        const expected = sent.map((value, at) => `${at < before ? 'a' : 'b'}${value}`)
        assert.deepEqual([before, given.out, given.told], [busy ? 0 : 3, expected, expected])
        assert.deepEqual(told(server, row.key), expected)
      } finally {
        rmSync(data_dir, { recursive: true, force: true })
      }
    })
  }
})
