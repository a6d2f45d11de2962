// chat.Structured: an answer as data that fits a JSON schema, its properties as outputs of their own.
import { NodeError } from '../engine/node-error.ts'
import type { NodeContext, NodeType, Outputs } from '../engine/node-type.ts'
import { conversationNeeds, conversationProperties } from './chat.ts'
import { ask, objectIn, Unfit } from './chat-asking.ts'
import { modelProblem, modelProperty, type Sampling, samplingProperties } from './chat-calls.ts'
import { illustrated } from './chat-images.ts'
import { conversation, conversationProblem } from './chat-messages.ts'
import { handlesOf, isSchema, propertiesOf, type Schema, spread } from './chat-schema.ts'
import { option, output, required } from './define.ts'
import { backgroundSchemaReader, guardSchema, readSchema, validateBySchema } from './schema-validation.ts'

const OWN = ['value', 'usage']

/** How many faults of an answer the model is told of at once. */
const TOLD_FAULTS = 10

interface StructuredInputs extends Sampling {
  schema: Schema
  repairs: number
}

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
  // Before anything is paid for.
  guardObject(schema)
  await guardSchema(schema, owner)
  const names = handlesOf(context, OWN, propertiesOf(schema))
  const messages = await illustrated(conversation(inputs), inputs, context)
  const question = { sampling: inputs, messages, schema, repairs, read: (text: string) => fitting(schema, text, owner) }
  const { value, usage } = await ask(question, context)
  return { ...spread(value, names, context), value, usage }
}

/** @throws NodeError `bad_schema` where it is not one of an object */
function guardObject(schema: unknown): void {
  if (isSchema(schema) && (schema.type === 'object' || (schema.type === undefined && isSchema(schema.properties))))
    return
  throw new NodeError('The schema must be one of an object, with the type "object".', 'bad_schema')
}

function readObjectSchema(schema: Schema): void {
  guardObject(schema)
  readSchema(schema)
}

async function fitting(schema: Schema, text: string, owner: string): Promise<Record<string, unknown>> {
  const value = objectIn(text)
  const verdict = await validateBySchema(schema, value, owner)
  if (verdict.kind === 'fits') return value
  if (verdict.kind !== 'unfit') throw new NodeError('The schema needs too much work for this answer.', 'bad_schema')
  const faults = verdict.problems.slice(0, TOLD_FAULTS)
  throw new Unfit(faults.map(({ path, message }) => `${path === '' ? 'The object' : path} ${message}.`).join(' '))
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
    expressions: { schema: readObjectSchema },
    slowExpressions: { schema: backgroundSchemaReader },
    problem: (facts) => modelProblem(facts) ?? conversationProblem(facts),
    run: (inputs, context) => structured(inputs as StructuredInputs, context),
  },
]
