// The live view of a run: its frames, how they fold, and how they replace each other.
import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { formatTotalSoFar, renderProgress } from '../../../src/cli/run/live-view.ts'
import { type NodeState, type ProgressView, RunProgress } from '../../../src/cli/run/progress.ts'
import { runRunCommand } from '../../../src/cli/run/run-command.ts'
import type { Terminal } from '../../../src/cli/shared/terminal.ts'
import { displayWidth, paintPlain } from '../../../src/cli/shared/terminal-text.ts'
import { type Environment, readConfig } from '../../../src/config.ts'
import { takesLess } from '../../helpers/patience.ts'
import { scaled } from '../../helpers/scale.ts'
import { delayed, echo, failing, graphOf, planOf, Screen } from '../kit.ts'

const config = readConfig({}, { host: '', port: 0 })
const NO_VIEW: ProgressView = { nodeClosed() {}, say() {}, end() {} }

/** The progress of nodes in the given states, all started at 0 and shown at 1,500 ms. */
function progressOf(states: readonly NodeState[]): RunProgress {
  const nodes = states.map((_, index) => ({ id: `n${index}`, type: 'input.String', data: { name: `n${index}` } }))
  const time = { now: 0 }
  const progress = new RunProgress(planOf(graphOf(nodes, [])), () => time.now)
  const observer = progress.observer(NO_VIEW)
  for (const [index, state] of states.entries()) {
    const node = { node_id: `n${index}`, node_name: '', node_type: '' }
    if (state !== 'waiting' && state !== 'skipped') observer.nodeUpdated(node, 'running')
    if (state === 'completed' || state === 'skipped' || state === 'error') observer.nodeUpdated(node, state)
  }
  time.now = 1_500
  return progress
}

const WIDE = { columns: 60, rows: 20, paint: paintPlain }

describe('a frame of the live view', () => {
  test('has a line per node with its state and time, and a total', () => {
    const progress = progressOf(['completed', 'running', 'waiting', 'skipped', 'error'])
    assert.deepEqual(renderProgress(progress, formatTotalSoFar(progress), WIDE), [
      '✓ n0                                  0 ms',
      '▸ n1                                 1.5 s',
      '· n2                                      ',
      '– n3                                      ',
      '✗ n4                                  0 ms',
      '3 of 5 nodes, 1 running, 1.5 s',
    ])
  })

  test('folds what is finished first, then what waits, and what runs or failed last', () => {
    const progress = progressOf(['completed', 'skipped', 'waiting', 'running', 'waiting', 'error', 'completed'])
    const lines = (rows: number) =>
      renderProgress(progress, 'total', { ...WIDE, rows }).map((line) =>
        line.startsWith('  …') ? line.trim() : line.slice(0, 4),
      )
    assert.deepEqual(lines(8), ['✓ n0', '– n1', '· n2', '▸ n3', '· n4', '✗ n5', '✓ n6', 'tota'])
    assert.deepEqual(lines(6), ['· n2', '▸ n3', '· n4', '✗ n5', '… and 2 done, 1 skipped', 'tota'])
    assert.deepEqual(lines(4), ['▸ n3', '✗ n5', '… and 2 waiting, 2 done, 1 skipped', 'tota'])
    assert.deepEqual(lines(2), ['… and 2 waiting, 1 running, 2 done, 1 skipped, 1 failed', 'tota'])
  })

  test('is never wider or higher than the window, and accounts for every node', () => {
    const states: NodeState[] = ['waiting', 'running', 'completed', 'skipped', 'error']
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom(...states), { minLength: 1, maxLength: 60 }),
        fc.integer({ min: 4, max: 120 }),
        fc.integer({ min: 2, max: 50 }),
        (given, columns, rows) => {
          const lines = renderProgress(progressOf(given), 'a total that is rather long', {
            columns,
            rows,
            paint: paintPlain,
          })
          assert.ok(lines.length <= rows, `${lines.length} lines`)
          for (const line of lines) assert.ok(displayWidth(line) <= columns, line)
          const folded = lines.at(-2)?.startsWith('  …') === true
          assert.equal(lines.length, folded ? rows : given.length + 1)
        },
      ),
      { numRuns: scaled(200) },
    )
  })

  test('of 100,000 nodes takes less than half of the time between two frames', async () => {
    const nodes = Array.from({ length: 100_000 }, (_, at) => ({
      id: `n${at}`,
      type: 'input.String',
      data: { name: `n${at}` },
    }))
    const progress = new RunProgress(planOf(graphOf(nodes, [])), () => 0)
    renderProgress(progress, '', WIDE)
    await takesLess(10 * 50, () => {
      for (let round = 0; round < 10; round++) renderProgress(progress, '', WIDE)
    })
  })
})

describe('the labels of nodes', () => {
  const labels = (...nodes: { id: string; data: Record<string, unknown> }[]) =>
    new RunProgress(
      planOf(
        graphOf(
          nodes.map((node) => ({ ...node, type: 'input.String' })),
          [],
        ),
      ),
      () => 0,
    ).nodes.map(({ label }) => label)

  test('are the id, with the name where it says more', () => {
    assert.deepEqual(labels({ id: 'a', data: { name: 'a' } }, { id: 'b', data: { name: 'Guest' } }), ['a', 'b (Guest)'])
  })

  test('hold no control characters', () => {
    assert.deepEqual(labels({ id: 'a\u001b[2J\nb', data: { name: '\u0007c' } }), ['a b (c)'])
  })
})

/** Runs a graph with this window, and returns the final screen. */
async function shown(graph: object, window: Screen, more: { stop?: AbortSignal; environment?: Environment } = {}) {
  const stdout = new Screen(80, 24)
  const terminal: Terminal = {
    stdin: Readable.from([Buffer.from(JSON.stringify(graph))]),
    stdout,
    stderr: window,
    environment: more.environment ?? {},
    stop: more.stop ?? new AbortController().signal,
  }
  const code = await runRunCommand(['-'], terminal, config)
  return {
    code,
    lines: window.lines.map((line) => line.replace(/\d+(\.\d)? m?s/g, 'T').trimEnd()),
    stdout: stdout.lines.join('\n'),
  }
}

describe('a run on a terminal', () => {
  test('is redrawn in place, and ends as one frame with the total', async () => {
    const window = new Screen(70, 24)
    const { code, lines } = await shown(delayed(3, 0.3), window)
    assert.equal(code, 0)
    assert.ok(window.writes.length >= 3, `${window.writes.length} pictures`)
    const squeezed = lines.map((line) => line.replace(/ +/g, ' '))
    assert.deepEqual(squeezed, [
      '✓ list T',
      '✓ each (For each) 3 items T',
      '✓ delay-1 (Delay) 3 items T',
      '✓ all (Collect) T',
      '✓ out T',
      'completed: 5 nodes in T',
    ])
  })

  test('of many nodes folds to the height of the window', async () => {
    const window = new Screen(70, 12)
    const { code, lines } = await shown(delayed(2, 0.01, 60), window)
    assert.equal(code, 0)
    assert.equal(lines.length, 11)
    assert.equal(lines.at(-2), '  … and 55 done')
    assert.equal(lines.at(-1), 'completed: 64 nodes in T')
  })

  test('that fails shows the failed node, and the unfinished nodes', async () => {
    const { code, lines, stdout } = await shown(failing(), new Screen(200, 24))
    assert.deepEqual([code, stdout], [1, ''])
    assert.match(lines[1]!, /^✗ read \(Read JSON\) /)
    assert.equal(lines[2], '· out')
    assert.equal(lines[3], 'failed: 3 nodes in T, 1 failed, 1 not finished')
    assert.match(lines[4]!, /^svc: failed at node "read" \(json\.Parse\): The text is not JSON.* \(not_json\)$/)
  })

  test('that is cancelled says so', async () => {
    const stop = new AbortController()
    const window = new Screen(70, 24)
    const ended = shown(delayed(1, 3_600), window, { stop: stop.signal })
    const timer = setInterval(() => {
      if (window.lines.some((line) => line.startsWith('▸ delay-1'))) stop.abort('SIGINT')
    }, 10)
    const { code, lines } = await ended
    clearInterval(timer)
    assert.equal(code, 130)
    assert.match(lines[2]!, /^■ delay-1 \(Delay\)/)
    assert.equal(lines.at(-1), 'cancelled: 5 nodes in T, 3 not finished')
  })

  test('with NO_COLOR, or on a dumb terminal, writes plain lines', async () => {
    for (const environment of [{ NO_COLOR: '1' }, { TERM: 'dumb' }]) {
      const window = new Screen(70, 24)
      const { lines } = await shown(echo({ name: 'x', type: 'Any', data: { value: 1 } }), window, { environment })
      assert.deepEqual(lines, ['in-x (x) done in T', 'out-x (x) done in T', 'completed: 2 nodes in T'])
      assert.ok(!window.writes.join('').includes('\u001b'))
    }
  })
})
