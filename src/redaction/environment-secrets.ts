// Finds the secrets in the environment of the process.
import { MIN_SECRET_LENGTH } from './matching/secret-encodings.ts'

const WORKFLOW_SECRET_PREFIX = 'SVC_SECRET_'
const SECRET_NAMES = new Set(['SECRETS_MASTER_KEY', 'SECRETS_MASTER_KEY_NEW', 'IDP_KEY'])
/** `SVC_SECRET_<NAME>`, and customary names of provider keys, tokens and passwords. */
const SECRET_NAME_PATTERN = /^SVC_SECRET_|_(?:API_KEY|ACCESS_KEY|TOKEN|SECRET|PASSWORD)$/

/**
 * The values to redact, without duplicates. Values of less than 8 characters are ignored: redaction cannot find them.
 */
export function findEnvironmentSecrets(environment: Readonly<Record<string, string | undefined>>): string[] {
  const found = new Set<string>()
  for (const [name, value = ''] of Object.entries(environment)) {
    if (!SECRET_NAMES.has(name) && !SECRET_NAME_PATTERN.test(name)) continue
    // Spaces at the ends may belong to a workflow secret; other secrets are read without them.
    const forms = name.startsWith(WORKFLOW_SECRET_PREFIX) ? [value, value.trim()] : [value.trim()]
    for (const form of forms) if (form.length >= MIN_SECRET_LENGTH) found.add(form)
  }
  return [...found]
}
