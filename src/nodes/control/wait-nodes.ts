// human.* and control.WaitFor: firings that wait for a person, or for a value from outside the run. The host decides who may answer, and
// validates the answer.
import type { WaitRequest } from '../../engine/durability/journal.ts'
import { NodeError } from '../../engine/node-api/node-error.ts'
import type { NodeType } from '../../engine/node-api/node-type.ts'
import { Wait } from '../../engine/node-api/wait.ts'
import { optionalProperty, requiredProperty, valueOutput } from '../shared/node-type-builders.ts'
import { backgroundSchemaReader, checkSchemaQuickly, guardSchema } from '../shared/schema-validation.ts'

const EMPTY_WAIT_REQUEST: Omit<WaitRequest, 'kind'> = { name: null, message: null, schema: null, until: null }

export const waitNodes: NodeType[] = [
  {
    node_type: 'human.Approval',
    title: 'Approval',
    description:
      'Asks a person, and waits without a time limit. The value goes to `approved` or to `rejected`; the nodes of the other branch are skipped.',
    properties: [
      optionalProperty('message', 'str', 'The question for the person who decides.', { default: '' }),
      optionalProperty('value', 'any', 'The value to pass on.'),
    ],
    outputs: [valueOutput('approved', 'any'), valueOutput('rejected', 'any')],
    // A message that comes along an edge is not among the node's own values.
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
      if (typeof approved !== 'boolean')
        throw new NodeError('The answer to an approval must be true or false.', 'bad_answer')
      return approved ? { approved: value } : { rejected: value }
    },
  },
  {
    node_type: 'control.WaitFor',
    title: 'Wait for a value',
    description: 'Waits without a time limit until the job is sent a value with this name, and passes the value on.',
    properties: [
      requiredProperty('name', 'str', 'The name with which the value is sent.'),
      optionalProperty(
        'schema',
        'dict[str,any]?',
        'The JSON schema (2020-12) that the value must satisfy. Without it any value is accepted.',
      ),
    ],
    expressions: { schema: checkSchemaQuickly },
    slowExpressions: { schema: backgroundSchemaReader },
    outputs: [valueOutput('value', 'any')],
    run({ name, schema }, context) {
      if (name === '') throw new NodeError('The node waits for a value without a name. Set name.', 'bad_input')
      const asked = schema as Record<string, unknown> | null
      const wait = new Wait({ ...EMPTY_WAIT_REQUEST, kind: 'value', name: String(name), schema: asked })
      return asked === null ? wait : guardSchema(asked, context.services.owner).then(() => wait)
    },
    onAnswer: (_inputs, value) => ({ value }),
  },
]
