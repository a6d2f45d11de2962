// chat.Classify and chat.Extract: what a model makes of a text, as a label or as fields.
import { NodeError } from '../engine/node-error.ts'
import type { Inputs, NodeContext, NodeFacts, NodeNeed, NodeProblem, NodeType, Outputs } from '../engine/node-type.ts'
import type { ModelMessage } from '../engine/services.ts'
import { t } from '../engine/types.ts'
import { conforms } from '../engine/values.ts'
import { ask, objectIn, Unfit } from './chat-asking.ts'
import { modelNeed, modelProblem, modelProperty, type Sampling, samplingProperties } from './chat-calls.ts'
import { labelIn, labelsProblem } from './chat-labels.ts'
import { conversation } from './chat-messages.ts'
import { handlesOf, type Schema, spread } from './chat-schema.ts'
import { repairsProperty } from './chat-structured.ts'
import { option, output, required } from './define.ts'
import { shown } from './limits.ts'

const MOST_FIELDS = 100

interface TextInputs extends Sampling {
  text: string
  instructions: string
  repairs: number
}

interface ClassifyInputs extends TextInputs {
  labels: string[]
}

interface ExtractInputs extends TextInputs {
  fields: Record<string, unknown>
}

/** The schemas of the types that a field may have. */
const FIELD_TYPES: Readonly<Record<string, Schema>> = {
  str: { type: ['string', 'null'] },
  int: { type: ['integer', 'null'] },
  float: { type: ['number', 'null'] },
  bool: { type: ['boolean', 'null'] },
  'list[str]': { type: ['array', 'null'], items: { type: 'string' } },
  'list[int]': { type: ['array', 'null'], items: { type: 'integer' } },
  'list[float]': { type: ['array', 'null'], items: { type: 'number' } },
}

interface Field {
  readonly type: string
  readonly description: string | null
}

function classifyTask({ labels, instructions }: Inputs): string {
  const listed = (labels as string[]).map((label) => JSON.stringify(label)).join(', ')
  return told(`Say which one of these labels fits the text of the user best: ${listed}.`, instructions)
}

function extractTask({ fields, instructions }: Inputs): string {
  const lines = Object.entries(fields as object).map(([name, field]) => {
    const { type, description } = fieldOf(field)!
    return `- ${name} (${type})${description === null ? '' : `: ${description}`}`
  })
  const task = 'Find these fields in the text of the user. What it does not say is null: make nothing up.'
  return told(`${task}\n${lines.join('\n')}`, instructions)
}

function told(task: string, instructions: unknown): string {
  return instructions === '' ? task : `${task}\n\n${instructions}`
}

/** What is sent: the task, then the text as what the user says. */
function sentFor(task: string, text: unknown): ModelMessage[] {
  if (text === '') throw new NodeError('The text is empty.', 'bad_input')
  return conversation({ system: task, prompt: text, messages: [] })
}

async function classify(inputs: ClassifyInputs, context: NodeContext): Promise<Outputs> {
  const { labels, text, repairs } = inputs
  const problem = labelsProblem(labels)
  if (problem !== null) throw new NodeError(problem, 'bad_input')
  const schema = objectOf({ label: { type: 'string', enum: labels } })
  const read = (answer: string) => labelIn(answer, labels)
  const messages = sentFor(classifyTask(inputs), text)
  const { value, usage } = await ask({ sampling: inputs, messages, schema, repairs, read }, context)
  return { label: value, usage }
}

async function extract(inputs: ExtractInputs, context: NodeContext): Promise<Outputs> {
  const { fields, text, repairs } = inputs
  const problem = fieldsProblem(fields)
  if (problem !== null) throw new NodeError(problem, 'bad_input')
  const properties = Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, schemaOf(field)]))
  const names = handlesOf(context, ['value', 'usage'], properties)
  const read = (answer: string) => fieldsIn(answer, fields)
  const messages = sentFor(extractTask(inputs), text)
  const question = { sampling: inputs, messages, schema: objectOf(properties), repairs, read }
  const { value, usage } = await ask(question, context)
  return { ...spread(value, names, context), value, usage }
}

/** All fields and nothing else; those that are not there are null. @throws Unfit */
function fieldsIn(answer: string, fields: Record<string, unknown>): Record<string, unknown> {
  const given = objectIn(answer)
  const found = Object.keys(fields).map((name): [string, unknown] => {
    const value = Object.hasOwn(given, name) ? given[name] : null
    const { type } = fieldOf(fields[name])!
    if (value !== null && !conforms(value, t(type))) throw new Unfit(`"${shown(name)}" must be ${type}, or null.`)
    return [name, value]
  })
  return Object.fromEntries(found)
}

function schemaOf(field: unknown): Schema {
  const { type, description } = fieldOf(field)!
  return { ...FIELD_TYPES[type]!, ...(description === null ? {} : { description }) }
}

function fieldOf(field: unknown): Field | null {
  const { type, description = null } =
    typeof field === 'object' && field !== null ? (field as Partial<Field>) : { type: field as string }
  if (typeof type !== 'string' || !Object.hasOwn(FIELD_TYPES, type)) return null
  return description === null || typeof description === 'string' ? { type, description } : null
}

function fieldsProblem(fields: unknown): string | null {
  const entries = Object.entries((fields ?? {}) as object)
  if (entries.length === 0) return 'There must be at least one field to find.'
  if (entries.length > MOST_FIELDS) return `There are more than ${MOST_FIELDS} fields.`
  const wrong = entries.find(([, field]) => fieldOf(field) === null)
  if (!wrong) return null
  return `The field "${shown(wrong[0])}" must be one of ${Object.keys(FIELD_TYPES).join(', ')}, or an object with such a type and a description.`
}

function objectOf(properties: Schema): Schema {
  return { type: 'object', properties, required: Object.keys(properties), additionalProperties: false }
}

/** What is wrong with the labels, or the fields, or the model, as they stand in the node. */
function problemWith(name: string, problemOf: (value: unknown) => string | null) {
  return (facts: NodeFacts): NodeProblem | null => {
    const own = facts.isConnected(name) ? null : facts.data[name]
    const message = own === null ? null : problemOf(own)
    return message === null ? modelProblem(facts) : { property: name, code: 'out_of_range', message }
  }
}

function needsOf(name: string, task: (data: Inputs) => string) {
  return (facts: NodeFacts): NodeNeed[] => {
    const known = !['text', 'instructions', name].some(facts.isConnected)
    return [modelNeed(facts, known ? sentBy(task, facts.data) : null)]
  }
}

function sentBy(task: (data: Inputs) => string, data: Inputs): string | null {
  try {
    return sentFor(task(data), data.text)
      .map(({ content }) => String(content))
      .join('\n')
  } catch {
    // The firing will say what is wrong with it.
    return null
  }
}

const common = () => [
  option('instructions', 'str', 'What else the model should know for it.', { default: '' }),
  repairsProperty(),
  ...samplingProperties(),
]

export const chatTextNodes: NodeType[] = [
  {
    node_type: 'chat.Classify',
    title: 'Classify text',
    description:
      'Has a model say which of some labels fits a text best. An answer that is none of them is asked for again, then the node fails.',
    properties: [
      modelProperty(),
      required('text', 'str', 'The text.'),
      required('labels', 'list[str]', 'The labels to choose from, between 2 and 200, each of at most 500 characters.'),
      ...common(),
    ],
    outputs: [output('label', 'str'), output('usage', 'dict[str,any]')],
    gives_all: true,
    needs: needsOf('labels', classifyTask),
    problem: problemWith('labels', labelsProblem),
    run: (inputs, context) => classify(inputs as ClassifyInputs, context),
  },
  {
    node_type: 'chat.Extract',
    title: 'Extract fields',
    description:
      'Has a model find fields in a text: an object with all of them, null where the text does not say. Dynamic outputs are fields; one that was not found gives nothing.',
    properties: [
      modelProperty(),
      required('text', 'str', 'The text.'),
      required(
        'fields',
        'dict[str,any]',
        'The fields by name: each a type (str, int, float, bool, list[str], list[int] or list[float]), or an object with a type and a description.',
      ),
      ...common(),
    ],
    outputs: [output('value', 'dict[str,any]'), output('usage', 'dict[str,any]')],
    supports_dynamic_outputs: true,
    needs: needsOf('fields', extractTask),
    problem: problemWith('fields', fieldsProblem),
    run: (inputs, context) => extract(inputs as ExtractInputs, context),
  },
]
