// Large answers of workflows: stored values are read and written in time slices, and unneeded values are not read.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { streamWorkflowAnswer } from '../../../src/completions/workflow-models/answer.ts'
import { LazyOutputEvent, LazyTerminalEvent } from '../../../src/events/lazy-event.ts'
import type { EventBody } from '../../../src/events/types.ts'
import type { ActiveJob } from '../../../src/jobs/active-job.ts'
import { JobModelUsage } from '../../../src/jobs/run/model-usage.ts'
import { type Steps, TimeSliceScheduler } from '../../../src/shared/time-slices.ts'
import { collect } from '../../helpers/loop.ts'
import { jobRow } from '../../helpers/store.ts'

test('a large answer is parsed and encoded in slices, and the result of its job is not parsed', async () => {
  const value = Array.from({ length: 20_000 }, (_, at) => ({ at, name: 'a name of one' }))
  const output = new LazyOutputEvent(JSON.stringify({ output_name: 'answer', value }))
  const end = new LazyTerminalEvent('completed', {
    rest: {} as never,
    result: JSON.stringify({ outputs: { answer: value } }),
  })
  const items = [output, end].map((event) => ({ sequence: 1, event: event as EventBody, frame: null, timestamp: '' }))
  const real = new TimeSliceScheduler()
  let runs = 0
  const slices = {
    run<T>(owner: string, steps: Steps<T>): Promise<T> {
      runs++
      return real.run(owner, steps)
    },
  }
  const following = {
    jobs: { get: () => assert.fail('nobody waits'), living: () => null },
    events: {
      async *follow() {
        yield* items
      },
    },
    slices,
  }
  const active = { row: jobRow(1), journal: { spending: new JobModelUsage() } } as unknown as ActiveJob
  const asked = { owner: { user_id: '1', workspace_id: null }, active, output: 'answer', words: '', model: 'm' }
  const parts = await collect(streamWorkflowAnswer(following, asked, { signal: new AbortController().signal } as never))
  const texts = parts.slice(0, -1).map((part) => {
    assert.ok(part.type === 'text' && part.text.length <= 65_536)
    return part.text
  })
  assert.equal(texts.join(''), JSON.stringify(value))
  assert.equal(parts.at(-1)!.type, 'end')
  assert.equal(runs, 2)
  assert.notEqual(end.prepareBody(slices, '1'), null, 'the result is not parsed yet')
})
