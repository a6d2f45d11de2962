// control.*: rounds, choices among many ways, failures that are held, and numbers without end.
import { type InputValues, type LoopFiring, NodeError, type NodeType } from '../../engine/node-api/node-type.ts'
import { FailureToken } from '../../engine/runtime/streams/tokens.ts'
import { optionalProperty, requiredProperty, streamOutput, valueOutput } from '../shared/node-type-builders.ts'
import { abbreviate } from '../shared/value-limits.ts'

const FEEDBACK_PROPERTY = { feedback: true, keeps: 'last' } as const

const NO_MESSAGE = 'The workflow ended itself.'

function createRounds({ initial, times, max_rounds }: InputValues): LoopFiring {
  let index = 0
  let value = initial
  const round = () => ({ item: { value, index } })
  const end = () => ({ outputs: { result: value, rounds: index } })
  return {
    first: () => (times === 0 ? end() : round()),
    next({ next, until }) {
      if (next === undefined) return end()
      value = next
      index++
      if (until || index === times) return end()
      if (times === null && index >= Number(max_rounds)) {
        const text = `The loop was not over after ${max_rounds} rounds. Let "until" become true, or raise "max_rounds".`
        throw new NodeError(text, 'too_many_rounds')
      }
      return round()
    },
  }
}

export const loopAndFailureNodes: NodeType[] = [
  {
    node_type: 'control.Loop',
    title: 'Loop',
    description:
      'Goes round with a value: what the nodes behind `value` make of it comes back to `next`, until `until` is true, `times` rounds are over, or nothing comes back.',
    properties: [
      requiredProperty('initial', 'any', 'The value of the first round.'),
      requiredProperty('next', 'any', 'The value of the next round, made from `value`.', FEEDBACK_PROPERTY),
      optionalProperty(
        'until',
        'union[bool,int,float]',
        'True in the round that is the last one; of numbers only 0 is false.',
        FEEDBACK_PROPERTY,
      ),
      optionalProperty('times', 'int?', 'How many rounds there are at most. Without it the loop must end by itself.', {
        min: 0,
      }),
      optionalProperty('max_rounds', 'int', 'A loop without `times` that is not over after so many rounds fails.', {
        default: 10_000,
        min: 1,
        max: 10_000_000,
      }),
    ],
    outputs: [
      streamOutput('value', 'any'),
      streamOutput('index', 'int'),
      valueOutput('result', 'any'),
      valueOutput('rounds', 'int'),
    ],
    loop: createRounds,
  },
  {
    node_type: 'control.Catch',
    title: 'Catch',
    description:
      'Holds the failures of the nodes before it: the run goes on, with `error` instead of `value`. Behind it, only one of the two ways is taken.',
    properties: [requiredProperty('value', 'any', 'What may fail to come.', { catches: true })],
    cost: 0,
    outputs: [valueOutput('value', 'any'), valueOutput('error', 'dict[str,str]')],
    run: ({ value }) => (value instanceof FailureToken ? { error: { ...value } } : { value }),
  },
  {
    node_type: 'control.Switch',
    title: 'Switch',
    description:
      'Sends a value along the dynamic output whose name is the case, else along `otherwise`. The nodes behind the other ways are skipped.',
    properties: [
      requiredProperty('case', 'union[str,int,bool]', 'Which way to go.'),
      optionalProperty('value', 'any', 'The value to send on.'),
    ],
    outputs: [valueOutput('otherwise', 'any')],
    supports_dynamic_outputs: true,
    run: ({ case: name, value }, { outputs }) => ({ [outputs.has(String(name)) ? String(name) : 'otherwise']: value }),
  },
  {
    node_type: 'control.Numbers',
    title: 'Numbers',
    description: 'Opens a stream of numbers, one step after the other; without an end it goes on for ever.',
    properties: [
      optionalProperty('from', 'float', 'The first number.', { default: 0 }),
      optionalProperty('to', 'float?', 'The last number, if a step meets it.'),
      optionalProperty('step', 'float', 'From one number to the next; not 0.', { default: 1 }),
    ],
    outputs: [streamOutput('item', 'float'), streamOutput('index', 'int')],
    *run({ from, to, step }: { from: number; to: number | null; step: number }) {
      if (step === 0) throw new NodeError('The step must not be 0: the stream would stand still.', 'bad_input')
      for (let index = 0; ; index++) {
        const item = from + index * step
        if ((to !== null && (step > 0 ? item > to : item < to)) || !Number.isFinite(item)) return
        yield { item, index }
      }
    },
  },
  {
    node_type: 'control.Fail',
    title: 'Fail',
    description: 'Fails where its condition is true, with a message of your own; else it hands its value on.',
    properties: [
      optionalProperty('value', 'any', 'The value to hand on.'),
      optionalProperty('condition', 'union[bool,int,float]', 'Whether to fail; of numbers only 0 is false.', {
        default: true,
      }),
      optionalProperty('message', 'str', 'What is said; where it is empty, what the default says.', {
        default: NO_MESSAGE,
      }),
    ],
    outputs: [valueOutput('output', 'any')],
    effect: true,
    run({ value, condition, message }) {
      if (condition) throw new NodeError(abbreviate(String(message)).trim() || NO_MESSAGE, 'failed')
      return { output: value }
    },
  },
]
