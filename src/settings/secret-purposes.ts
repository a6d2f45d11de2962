// Names of secrets that the service itself knows, and what it says of them.
import type { NodeRegistry } from '../engine/node-api/node-type.ts'
import { isSecretName } from '../shared/secret-name.ts'

/** The customary names of the keys of model providers. */
const PROVIDER_KEYS: readonly (readonly [name: string, provider: string])[] = [
  ['ANTHROPIC_API_KEY', 'anthropic'],
  ['GEMINI_API_KEY', 'gemini'],
  ['OPENAI_API_KEY', 'openai'],
]

interface ProviderWithKey {
  readonly name: string
  readonly credential: string | null
}

/** By name: the keys of model providers, those of this process included, and what node types say that they need. */
export function listSecretPurposes(
  registry: NodeRegistry,
  providers: readonly ProviderWithKey[],
): ReadonlyMap<string, string> {
  const own = providers.flatMap(({ name, credential }) => (credential === null ? [] : [[credential, name] as const]))
  const purposes = new Map(
    [...PROVIDER_KEYS, ...own].map(([name, provider]) => [name, `The key of the provider "${provider}".`]),
  )
  const needed = registry
    .all()
    .flatMap(({ node_type, required_settings = [] }) => required_settings.map((name) => ({ name, node_type })))
    .filter(({ name }) => isSecretName(name))
  for (const [name, types] of Map.groupBy(needed, ({ name }) => name)) {
    const told = `Needed by nodes of the type ${types.map(({ node_type }) => `"${node_type}"`).join(', ')}.`
    purposes.set(name, [purposes.get(name), told].filter(Boolean).join(' '))
  }
  return purposes
}
