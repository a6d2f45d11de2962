// Which secrets the environment of the process holds.
import { SHORTEST_SECRET } from './forms.ts'

const OF_WORKFLOWS = 'SVC_SECRET_'
const NAMES = new Set(['SECRETS_MASTER_KEY', 'SECRETS_MASTER_KEY_NEW', 'IDP_KEY'])
/** `SVC_SECRET_<NAME>`, and by custom: the keys of model providers, tokens, passwords. */
const NAME = /^SVC_SECRET_|_(?:API_KEY|ACCESS_KEY|TOKEN|SECRET|PASSWORD)$/

/** Values that must not be told, each once. Those of less than 8 characters are left out: nobody looks for them. */
export function knownSecrets(environment: Readonly<Record<string, string | undefined>>): string[] {
  const found = new Set<string>()
  for (const [name, value = ''] of Object.entries(environment)) {
    if (!NAMES.has(name) && !NAME.test(name)) continue
    // A space at an end may belong to a secret of a workflow; the others are read without.
    const forms = name.startsWith(OF_WORKFLOWS) ? [value, value.trim()] : [value.trim()]
    for (const form of forms) if (form.length >= SHORTEST_SECRET) found.add(form)
  }
  return [...found]
}
