import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto'
import type * as z from 'zod'
import { fault } from '../api/errors.ts'
import { MASK, mapSecrets } from '../api/secret.ts'

/**
 * Keeps secrets. At rest they are sealed (AES-256-GCM); to a client that asks for `encrypted` they are handed out as
 * opaque Fernet tokens and taken back. Both keys are derived from the server's secret key, each for its own purpose.
 *
 * A secret is sealed at the door and stays sealed in memory, in the store and in the log, until the very use.
 */
export class Vault {
  readonly #sealKey: Buffer
  readonly #tokenSignKey: Buffer
  readonly #tokenCryptKey: Buffer
  readonly #deriveKey: Buffer

  constructor(secretKey: string) {
    const derive = (purpose: string) => Buffer.from(hkdfSync('sha256', secretKey, 'gantry', purpose, 32))
    this.#sealKey = derive('seal')
    const token = derive('token')
    this.#tokenSignKey = token.subarray(0, 16)
    this.#tokenCryptKey = token.subarray(16)
    this.#deriveKey = derive('derive')
  }

  /** A credential for one purpose: always the same, and no way back. */
  derive(purpose: string): string {
    return createHmac('sha256', this.#deriveKey).update(purpose).digest('base64url')
  }

  seal(plain: string): string {
    const iv = randomBytes(12)
    const cipher = createCipheriv('aes-256-gcm', this.#sealKey, iv)
    const body = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()])
    return SEALED + Buffer.concat([iv, cipher.getAuthTag(), body]).toString('base64url')
  }

  open(sealed: string): string {
    const bytes = Buffer.from(sealed.slice(SEALED.length), 'base64url')
    try {
      const decipher = createDecipheriv('aes-256-gcm', this.#sealKey, bytes.subarray(0, 12))
      decipher.setAuthTag(bytes.subarray(12, 28))
      return decipher.update(bytes.subarray(28), undefined, 'utf8') + decipher.final('utf8')
    } catch {
      throw fault('record_damaged', 'A stored secret (was the secret key changed?)')
    }
  }

  /** A Fernet token: version, time, IV, AES-128-CBC, HMAC-SHA256. */
  toToken(plain: string): string {
    const iv = randomBytes(16)
    const head = Buffer.alloc(9)
    head[0] = 0x80
    head.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 1000)), 1)
    const cipher = createCipheriv('aes-128-cbc', this.#tokenCryptKey, iv)
    const signed = Buffer.concat([head, iv, cipher.update(plain, 'utf8'), cipher.final()])
    const token = Buffer.concat([signed, this.#sign(signed)])
    return token.toString('base64').replaceAll('+', '-').replaceAll('/', '_')
  }

  /** Undefined when the token is not one of ours. */
  fromToken(token: string): string | undefined {
    const bytes = Buffer.from(token, 'base64url')
    if (bytes.length < 73 || bytes[0] !== 0x80) return undefined
    const signed = bytes.subarray(0, -32)
    if (!timingSafeEqual(this.#sign(signed), bytes.subarray(-32))) return undefined
    const decipher = createDecipheriv('aes-128-cbc', this.#tokenCryptKey, signed.subarray(9, 25))
    return decipher.update(signed.subarray(25), undefined, 'utf8') + decipher.final('utf8')
  }

  /**
   * Seals every secret of a value that came over the wire. A token of ours is opened first; a token of somebody else's
   * is refused, for storing it as if it were the secret would only fail later. Blank and masked values become null.
   */
  sealAll<T>(schema: z.ZodType, value: T): T {
    return mapSecrets(schema, value, plain => this.sealOne(plain))
  }

  sealOne(plain: string): string | undefined {
    if (plain.trim() === '' || plain === MASK) return undefined
    if (!looksLikeToken(plain)) return this.seal(plain)
    const opened = this.fromToken(plain)
    if (opened === undefined) throw fault('invalid_request', 'An encrypted secret was made by another server or key')
    return this.seal(opened)
  }

  #sign(bytes: Buffer): Buffer {
    return createHmac('sha256', this.#tokenSignKey).update(bytes).digest()
  }
}

const SEALED = 'sealed:'

export const looksLikeToken = (text: string): boolean => /^gAAAAA[\w-]{60,}={0,2}$/.test(text)

/** Every sealed secret of a value as it was: for the very use. */
export const openAll = <T>(vault: Vault, schema: z.ZodType, value: T): T =>
  mapSecrets(schema, value, sealed => (sealed.startsWith(SEALED) ? vault.open(sealed) : sealed))

/** Every secret as the mask. */
export const masked = <T>(schema: z.ZodType, value: T): T => mapSecrets(schema, value, () => MASK)

/** Every secret gone: null, and map entries absent. */
export const withoutSecrets = <T>(schema: z.ZodType, value: T): T => mapSecrets(schema, value, () => undefined)
