// chat.Structured: an answer as data that fits a JSON schema, its properties as outputs of their own.
import { NodeError } from '../engine/node-error.ts'
import type { NodeContext, NodeFacts, NodeProblem, NodeType, Outputs } from '../engine/node-type.ts'
import { Schemas, unusableAtSight } from '../sandbox/schemas.ts'
import { conversationNeeds, conversationProperties } from './chat.ts'
import { ask, objectIn, Unfit } from './chat-asking.ts'
import { modelProblem, modelProperty, type Sampling, samplingProperties } from './chat-calls.ts'
import { illustrated } from './chat-images.ts'
import { conversation, conversationProblem } from './chat-messages.ts'
import { handlesOf, isSchema, propertiesOf, type Schema, spread } from './chat-schema.ts'
import { option, output, required } from './define.ts'
import { lazily } from './libraries.ts'

const OWN = ['value', 'usage']

/** How many faults of an answer the model is told of at once. */
const TOLD_FAULTS = 10
/** How much is told of why a schema cannot be used. */
const SHOWN_WHY = 500

interface StructuredInputs extends Sampling {
  schema: Schema
  repairs: number
}

const schemas = lazily(() => new Schemas())

/** How often a model is asked again for an answer that fits. */
export const repairsProperty = () =>
  option(
    'repairs',
    'int',
    'How often the model is asked again, and told what is wrong, where its answer does not fit.',
    {
      default: 1,
      min: 0,
      max: 10,
    },
  )

async function structured(inputs: StructuredInputs, context: NodeContext): Promise<Outputs> {
  const { schema, repairs } = inputs
  const { owner } = context.services
  await guardSchema(schema, owner)
  const names = handlesOf(context, OWN, propertiesOf(schema))
  const messages = await illustrated(conversation(inputs), inputs, context)
  const question = { sampling: inputs, messages, schema, repairs, read: (text: string) => fitting(schema, text, owner) }
  const { value, usage } = await ask(question, context)
  return { ...spread(value, names, context), value, usage }
}

/** @throws NodeError `bad_schema` before anything is paid for */
async function guardSchema(schema: Schema, owner: string): Promise<void> {
  const problem = schemaProblem(schema)
  if (problem !== null) throw new NodeError(problem, 'bad_schema')
  const verdict = await schemas().judge(schema, owner)
  if (verdict.kind === 'unusable') throw new NodeError(unusable(verdict.why), 'bad_schema')
  if (verdict.kind === 'costly') throw new NodeError('The schema needs too much work.', 'bad_schema')
}

/** It may have parts of the schema in it. */
function unusable(why: string): string {
  return `The schema cannot be used: ${why.length > SHOWN_WHY ? `${why.slice(0, SHOWN_WHY)}…` : why}.`
}

async function fitting(schema: Schema, text: string, owner: string): Promise<Record<string, unknown>> {
  const value = objectIn(text)
  const verdict = await schemas().check(schema, value, { owner })
  if (verdict.kind === 'fits') return value
  if (verdict.kind !== 'unfit') throw new NodeError('The schema needs too much work for this answer.', 'bad_schema')
  const faults = verdict.problems.slice(0, TOLD_FAULTS)
  throw new Unfit(faults.map(({ path, message }) => `${path === '' ? 'The object' : path} ${message}.`).join(' '))
}

function schemaProblem(schema: unknown): string | null {
  if (isSchema(schema) && (schema.type === 'object' || (schema.type === undefined && isSchema(schema.properties))))
    return null
  return 'The schema must be one of an object, with the type "object".'
}

function problem(facts: NodeFacts): NodeProblem | null {
  const { data, isConnected } = facts
  const wrong = isConnected('schema') || data.schema === null ? null : schemaProblem(data.schema)
  if (wrong !== null) return { property: 'schema', code: 'invalid_expression', message: wrong }
  const why = isConnected('schema') || !isSchema(data.schema) ? null : unusableAtSight(data.schema)
  if (why !== null) return { property: 'schema', code: 'invalid_expression', message: unusable(why) }
  return modelProblem(facts) ?? conversationProblem(facts)
}

export const structuredNodes: NodeType[] = [
  {
    node_type: 'chat.Structured',
    title: 'Structured answer',
    description:
      'Has a model answer with an object that fits a JSON schema (2020-12). Dynamic outputs are properties of the object; one that is missing gives nothing. An answer that does not fit is asked for again, then the node fails.',
    properties: [
      modelProperty(),
      required('schema', 'dict[str,any]', 'The JSON schema of the object.'),
      ...conversationProperties(),
      repairsProperty(),
      ...samplingProperties(),
    ],
    outputs: [output('value', 'dict[str,any]'), output('usage', 'dict[str,any]')],
    supports_dynamic_outputs: true,
    needs: conversationNeeds,
    problem,
    run: (inputs, context) => structured(inputs as StructuredInputs, context),
  },
]
