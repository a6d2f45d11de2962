// Graphs of jobs that wait at a known place: for values, for a person, or for nothing.
import { graph, node, sink, source } from '../engine/kit.ts'

/** `x` ends at once. */
export const plain = graph([source('in', 'x'), sink('out')], ['in.output->out.value'])

/** Runs until its input `x` ends, and returns the sent values. */
export const fed = graph([node('in', 'input.Any', { name: 'x', stream: true }), sink('out')], ['in.output->out.value'])

/** As above, through a template that a command may change. */
export const templated = graph(
  [
    node('in', 'input.Any', { name: 'x', stream: true }),
    node('say', 'text.Template', { template: 'old {{x}}' }),
    sink('out'),
  ],
  ['in.output->say.x', 'say.output->out.value'],
)

/** Is suspended until it gets a value. */
export const awaiting = graph(
  [node('wait', 'control.WaitFor', { name: 'word' }), sink('out')],
  ['wait.value->out.value'],
)

/** Fails at once. */
export const failing = graph(
  [source('in', 1), node('bad', 'math.Formula', { formula: 'a / 0' }), sink('out')],
  ['in.output->bad.a', 'bad.output->out.value'],
)
