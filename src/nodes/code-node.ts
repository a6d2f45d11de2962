// code.*: code that users write, run in the host's sandbox. The sandbox checks the code; this file has the handles and limits.

import type { InputValues, NodeRunResult, OutputGenerator } from '../engine/node-api/firing-forms.ts'
import { NodeError } from '../engine/node-api/node-error.ts'
import type { BackgroundExpressionReader } from '../engine/node-api/node-facts.ts'
import type { NodeType } from '../engine/node-api/node-type.ts'
import type { SandboxScript } from '../engine/node-api/services/sandbox.ts'
import {
  LARGEST_MEMORY_LIMIT_MB,
  LONGEST_TIME_LIMIT_MS,
  MEMORY_LIMIT_MB,
  SHORTEST_TIME_LIMIT_MS,
  SMALLEST_MEMORY_LIMIT_MB,
  TIME_LIMIT_MS,
} from '../sandbox/limits.ts'
import { costOfSyntax, findSyntaxError } from '../sandbox/script-syntax.ts'
import { catchErrorMessage } from './shared/node-error-message.ts'
import { optionalProperty, requiredProperty } from './shared/node-type-builders.ts'

interface CodeInputs extends InputValues {
  code: string
  seed: number | null
  time_limit_ms: number
  memory_limit_mb: number
}

/** Seeds from the run's random numbers are whole numbers below this limit. */
const SEED_LIMIT = 2 ** 32

/** @throws NodeError `code_error` for a syntax error. This check is for short code. */
function checkSyntax(code: string): void {
  const fault = findSyntaxError(code)
  if (fault !== null) throw new NodeError(fault, 'code_error')
}

/** Checks the syntax of long code in a worker. */
function backgroundCodeReader(code: string): BackgroundExpressionReader {
  return ({ sandbox, owner, signal }) => {
    const limits = { time_limit_ms: TIME_LIMIT_MS, memory_limit_mb: MEMORY_LIMIT_MB }
    const script = { code, syntax_only: true, inputs: {}, seed: 0, ...limits, owner, signal, log() {} }
    return catchErrorMessage(sandbox.call(script), 'code_error', 'too_large')
  }
}

export const codeNodes: NodeType[] = [
  {
    node_type: 'code.JavaScript',
    title: 'JavaScript',
    description:
      'Runs JavaScript in a sandbox. Inputs are variables by name, and `inputs` holds all of them. The code is the body of ' +
      'an asynchronous generator function: `return {name: value}` gives outputs, `yield {name: value}` an item of stream ' +
      'outputs. Values must be JSON. `console` writes to the log. There is no network, no file and no timer.',
    properties: [
      requiredProperty('code', 'str', 'The body of the function.'),
      optionalProperty('time_limit_ms', 'int', 'Milliseconds until the result, or until the next item.', {
        default: TIME_LIMIT_MS,
        min: SHORTEST_TIME_LIMIT_MS,
        max: LONGEST_TIME_LIMIT_MS,
      }),
      optionalProperty('memory_limit_mb', 'int', 'Megabytes for all values of the code.', {
        default: MEMORY_LIMIT_MB,
        min: SMALLEST_MEMORY_LIMIT_MB,
        max: LARGEST_MEMORY_LIMIT_MB,
      }),
      optionalProperty(
        'seed',
        'int?',
        'Math.random gives the same numbers for the same seed. Without it, the run chooses one.',
      ),
    ],
    expressions: { code: checkSyntax },
    costlyExpressions: { code: { cost: costOfSyntax, reader: backgroundCodeReader } },
    outputs: [],
    supports_dynamic_inputs: true,
    supports_dynamic_outputs: true,
    supports_dynamic_streams: true,
    // Apart from the time, its outputs depend on its inputs alone.
    repeats: true,
    isTimeDependent: true,
    run({ code, seed, time_limit_ms, memory_limit_mb, ...inputs }: CodeInputs, context): NodeRunResult {
      const { sandbox, owner } = context.services
      const script: SandboxScript = {
        code,
        inputs,
        seed: seed ?? Math.floor(context.random() * SEED_LIMIT),
        time_limit_ms,
        memory_limit_mb,
        owner,
        run: context.run,
        signal: context.signal,
        inSlices: (steps) => context.inSlices(steps),
        log: (severity, content) => context.log(severity, content),
      }
      return context.hasStreamOutput ? (sandbox.stream(script) satisfies OutputGenerator) : sandbox.call(script)
    },
  },
]
