import * as z from 'zod'
import { nullishText, secretMap, secretOrNull, textOrNull } from './common.ts'
import { secret } from './secret.ts'

export const StaticSecret = z
  .object({ description: textOrNull, value: secretOrNull, kind: z.literal('StaticSecret') })
  .meta({ id: 'StaticSecret' })
export type StaticSecret = z.output<typeof StaticSecret>

/** The value is what a GET of `url` answers; a relative one means this server. */
export const LookupSecret = z
  .object({
    description: textOrNull,
    url: z.string(),
    headers: secretMap.default({}),
    kind: z.literal('LookupSecret'),
  })
  .meta({ id: 'LookupSecret' })
export type LookupSecret = z.output<typeof LookupSecret>

export const SecretSource = z.discriminatedUnion('kind', [StaticSecret, LookupSecret]).meta({ id: 'SecretSource' })
export type SecretSource = z.output<typeof SecretSource>

/** `value` must be there: `{url}` with its kind forgotten is an error, not a secret without a value. */
const ValueOnly = z.codec(
  z.object({ value: secret(), description: nullishText, kind: z.never().optional() }),
  StaticSecret,
  {
    decode: ({ value, description }) => ({ kind: 'StaticSecret' as const, value, description: description ?? null }),
    encode: ({ value, description }) => ({ value: value ?? '', description }),
  },
)

const BareString = z.codec(secret(), StaticSecret, {
  decode: value => ({ kind: 'StaticSecret' as const, value }),
  encode: ({ value }) => value ?? '',
})

/** What a caller may send for a secret, read as its source. */
export const SecretInput = z.union([SecretSource, ValueOnly, BareString])
export type SecretInput = z.output<typeof SecretInput>

export const SecretRegistry = z
  .object({ secret_sources: z.record(z.string(), SecretSource) })
  .meta({ id: 'SecretRegistry' })
export type SecretRegistry = z.output<typeof SecretRegistry>
