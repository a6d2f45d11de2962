// human.* and control.WaitFor: firings that wait for somebody, or something, outside of the run. Who answers them, and whether the answer
// is what they ask for, is the business of the host.
import type { WaitRequest } from '../../engine/durability/journal.ts'
import { NodeError, type NodeType, Wait } from '../../engine/node-api/node-type.ts'
import { optionalProperty, requiredProperty, valueOutput } from '../shared/node-type-builders.ts'
import { backgroundSchemaReader, checkSchemaQuickly, guardSchema } from '../shared/schema-validation.ts'

const EMPTY_WAIT_REQUEST: Omit<WaitRequest, 'kind'> = { name: null, message: null, schema: null, until: null }

export const waitNodes: NodeType[] = [
  {
    node_type: 'human.Approval',
    title: 'Approval',
    description:
      'Asks a person, and waits for as long as it takes. The value goes one way where they approve, the other way where they do not; the nodes behind the other way are skipped.',
    properties: [
      optionalProperty('message', 'str', 'What is asked, in words for the person who decides.', { default: '' }),
      optionalProperty('value', 'any', 'The value to hand on.'),
    ],
    outputs: [valueOutput('approved', 'any'), valueOutput('rejected', 'any')],
    // A message that comes along an edge is not among its own values.
    needs: ({ data, isConnected }) => [
      { kind: 'approval', name: isConnected('message') ? '' : String(data.message ?? '') },
    ],
    run: ({ message }) =>
      new Wait({
        ...EMPTY_WAIT_REQUEST,
        kind: 'approval',
        message: message === '' ? null : String(message),
        schema: { type: 'boolean' },
      }),
    onAnswer({ value }, approved) {
      if (typeof approved !== 'boolean') throw new NodeError('An approval is true or false.', 'bad_answer')
      return approved ? { approved: value } : { rejected: value }
    },
  },
  {
    node_type: 'control.WaitFor',
    title: 'Wait for a value',
    description:
      'Waits until a value of its name is given to the job from outside, for as long as it takes, and hands it on.',
    properties: [
      requiredProperty('name', 'str', 'The name under which the value is given.'),
      optionalProperty(
        'schema',
        'dict[str,any]?',
        'The JSON schema (2020-12) that the value must satisfy. Without it any value will do.',
      ),
    ],
    expressions: { schema: checkSchemaQuickly },
    slowExpressions: { schema: backgroundSchemaReader },
    outputs: [valueOutput('value', 'any')],
    run({ name, schema }, context) {
      if (name === '') throw new NodeError('The value that is waited for has no name.', 'bad_input')
      const asked = schema as Record<string, unknown> | null
      const wait = new Wait({ ...EMPTY_WAIT_REQUEST, kind: 'value', name: String(name), schema: asked })
      return asked === null ? wait : guardSchema(asked, context.services.owner).then(() => wait)
    },
    onAnswer: (_inputs, value) => ({ value }),
  },
]
