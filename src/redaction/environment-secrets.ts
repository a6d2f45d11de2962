// Which secrets the environment of the process holds.
import { MIN_SECRET_LENGTH } from './matching/secret-encodings.ts'

const WORKFLOW_SECRET_PREFIX = 'SVC_SECRET_'
const SECRET_NAMES = new Set(['SECRETS_MASTER_KEY', 'SECRETS_MASTER_KEY_NEW', 'IDP_KEY'])
/** `SVC_SECRET_<NAME>`, and by custom: the keys of model providers, tokens, passwords. */
const SECRET_NAME_PATTERN = /^SVC_SECRET_|_(?:API_KEY|ACCESS_KEY|TOKEN|SECRET|PASSWORD)$/

/** Values that must not be told, each once. Those of less than 8 characters are left out: nobody looks for them. */
export function findEnvironmentSecrets(environment: Readonly<Record<string, string | undefined>>): string[] {
  const found = new Set<string>()
  for (const [name, value = ''] of Object.entries(environment)) {
    if (!SECRET_NAMES.has(name) && !SECRET_NAME_PATTERN.test(name)) continue
    // A space at an end may belong to a secret of a workflow; the others are read without.
    const forms = name.startsWith(WORKFLOW_SECRET_PREFIX) ? [value, value.trim()] : [value.trim()]
    for (const form of forms) if (form.length >= MIN_SECRET_LENGTH) found.add(form)
  }
  return [...found]
}
