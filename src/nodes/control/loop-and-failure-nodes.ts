// control.*: loops, switches, caught failures, and endless numbers.
import type { InputValues, LoopFiring } from '../../engine/node-api/firing-forms.ts'
import { NodeError } from '../../engine/node-api/node-error.ts'
import type { NodeType } from '../../engine/node-api/node-type.ts'
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
      'Runs rounds with a value. The nodes behind `value` compute a new value, which comes back to `next`. The loop ends when `until` is true, when `times` rounds are over, or when no value comes back.',
    properties: [
      requiredProperty('initial', 'any', 'The value of the first round.'),
      requiredProperty('next', 'any', 'The value of the next round, made from `value`.', FEEDBACK_PROPERTY),
      optionalProperty(
        'until',
        'union[bool,int,float]',
        'True in the last round. The number 0 is false; other numbers are true.',
        FEEDBACK_PROPERTY,
      ),
      optionalProperty('times', 'int?', 'The most rounds. Without it the loop must end by itself.', {
        min: 0,
      }),
      optionalProperty('max_rounds', 'int', 'A loop without `times` fails after so many rounds.', {
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
      'Catches the failures of the nodes before it: the run continues with `error` instead of `value`. Only one of the two branches runs.',
    properties: [requiredProperty('value', 'any', 'The value of nodes that may fail.', { catches: true })],
    cost: 0,
    outputs: [valueOutput('value', 'any'), valueOutput('error', 'dict[str,str]')],
    run: ({ value }) => (value instanceof FailureToken ? { error: { ...value } } : { value }),
  },
  {
    node_type: 'control.Switch',
    title: 'Switch',
    description:
      'Sends a value to the dynamic output that has the name of the case, else to `otherwise`. The nodes behind the other outputs are skipped.',
    properties: [
      requiredProperty('case', 'union[str,int,bool]', 'The name of the output to choose.'),
      optionalProperty('value', 'any', 'The value to send on.'),
    ],
    outputs: [valueOutput('otherwise', 'any')],
    supports_dynamic_outputs: true,
    run: ({ case: name, value }, { outputs }) => ({ [outputs.has(String(name)) ? String(name) : 'otherwise']: value }),
  },
  {
    node_type: 'control.Numbers',
    title: 'Numbers',
    description: 'Opens a stream of numbers with equal steps. Without `to` the stream is endless.',
    properties: [
      optionalProperty('from', 'float', 'The first number.', { default: 0 }),
      optionalProperty('to', 'float?', 'The last number, if a step reaches it exactly.'),
      optionalProperty('step', 'float', 'The difference between two numbers, which must not be 0.', { default: 1 }),
    ],
    outputs: [streamOutput('item', 'float'), streamOutput('index', 'int')],
    *run({ from, to, step }: { from: number; to: number | null; step: number }) {
      if (step === 0)
        throw new NodeError('The step must not be 0, because the numbers would never change.', 'bad_input')
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
    description: 'Fails with your message if its condition is true; else it passes its value on.',
    properties: [
      optionalProperty('value', 'any', 'The value to pass on.'),
      optionalProperty(
        'condition',
        'union[bool,int,float]',
        'Whether to fail. The number 0 is false; other numbers are true.',
        {
          default: true,
        },
      ),
      optionalProperty('message', 'str', 'The error message. Empty: the default message.', {
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
