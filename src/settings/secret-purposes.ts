// Describes the secrets that the service itself uses.
import type { NodeRegistry } from '../engine/node-api/node-type.ts'
import { isSecretName } from '../shared/secret-name.ts'

/** The usual names of the keys of model providers. */
const PROVIDER_KEYS: readonly (readonly [name: string, provider: string])[] = [
  ['ANTHROPIC_API_KEY', 'anthropic'],
  ['GEMINI_API_KEY', 'gemini'],
  ['OPENAI_API_KEY', 'openai'],
]

interface ProviderWithKey {
  readonly name: string
  readonly credential: string | null
}

/** Returns the purposes by name: keys of the well-known providers and of those of this process, and secrets that node types need. */
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
    const need = `Needed by nodes of the type ${types.map(({ node_type }) => `"${node_type}"`).join(', ')}.`
    purposes.set(name, [purposes.get(name), need].filter(Boolean).join(' '))
  }
  return purposes
}
