// The causes of failures in the terminal: stacks of unexpected failures, messages of expected ones.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createPlainView, createQuietView } from '../../src/cli/run/plain-views.ts'
import { type ProgressView, RunProgress } from '../../src/cli/run/progress.ts'
import { NodeError } from '../../src/engine/node-api/node-error.ts'
import { noServices } from '../../src/engine/node-api/services/no-services.ts'
import { executePlan } from '../../src/engine/runtime/execution.ts'
import { echo, graphOf, planOf, Screen } from './kit.ts'

const node = { node_id: 'in-x', node_name: '', node_type: 'input.String' }
type MakeView = (progress: RunProgress, screen: Screen) => ProgressView

/** The screen after one fault of a node. */
function said(view: MakeView, cause: unknown, told: boolean): string[] {
  const progress = new RunProgress(planOf(echo({ name: 'x', type: 'String' })), () => 0)
  const screen = new Screen(80, 24)
  progress.observer(view(progress, screen)).fault(node, cause, told)
  return screen.lines
}

const quiet: MakeView = (_progress, screen) => createQuietView(screen)

describe('the cause of a failure', () => {
  test('is one line where the failure has a message of its own, and nothing in a quiet run', () => {
    const cause = new Error('connect ECONNREFUSED')
    assert.deepEqual(said(createPlainView, cause, true), ['cause: in-x (x): connect ECONNREFUSED'])
    assert.deepEqual(said(quiet, cause, true), [])
  })

  test('is shown with its stack if the failure is unexpected, even in a quiet run', () => {
    const cause = new TypeError('x is not a function')
    for (const view of [createPlainView, quiet]) {
      const lines = said(view, cause, false)
      assert.equal(lines[0], 'fault: in-x (x): TypeError: x is not a function')
      assert.match(lines[1]!, /^ {4}at /)
    }
  })

  test('is reported by the engine as expected or unexpected', async () => {
    const heard: boolean[] = []
    const nodes = [{ id: 'send', type: 'http.Request', data: { url: 'http://example.org' } }]
    for (const error of [new NodeError('Refused.', 'refused', { cause: new Error('why') }), new Error('no')]) {
      const plan = planOf(graphOf(nodes, []))
      const progress = new RunProgress(plan, () => 0)
      const observer = progress.observer({ nodeClosed() {}, say() {}, end() {} })
      observer.fault = (_node, _cause, told) => heard.push(told)
      const services = { ...noServices, http: { send: () => Promise.reject(error) } }
      const signal = new AbortController().signal
      const { status } = await executePlan(plan, { params: {}, signal, observer, services }).done
      assert.equal(status, 'failed')
    }
    assert.deepEqual(heard, [true, false])
  })
})
