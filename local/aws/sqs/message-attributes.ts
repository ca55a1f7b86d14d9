import { createHash } from 'node:crypto';
import { invalidValue, sqsError } from './sqs-error.ts';

/** An attribute as JSON carries it: binary values are base64. */
export interface MessageAttribute {
  readonly DataType: string;
  readonly StringValue?: string;
  readonly BinaryValue?: string;
}

export type MessageAttributes = Readonly<Record<string, MessageAttribute>>;

const MAX_ATTRIBUTES = 10;
const STRING_VALUE = Buffer.from([1]);
const BINARY_VALUE = Buffer.from([2]);

/** SQS takes only the characters of XML 1.0; a lone surrogate is none. */
const CHARACTERS_OUTSIDE_XML =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what it looks for
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/;

export const md5 = (data: string | Buffer): string => createHash('md5').update(data).digest('hex');

export function checkCharacters(text: string): void {
  if (CHARACTERS_OUTSIDE_XML.test(text)) {
    throw sqsError(
      'InvalidMessageContents',
      'Invalid characters found. Valid unicode characters are #x9 | #xA | #xD | #x20 to #xD7FF | #xE000 to #xFFFD | #x10000 to #x10FFFF',
    );
  }
}

/** Throws `InvalidParameterValue` for attributes that SQS would not take. */
export function checkMessageAttributes(attributes: MessageAttributes): void {
  const entries = Object.entries(attributes);
  if (entries.length > MAX_ATTRIBUTES) {
    throw invalidValue(
      `Number of message attributes [${entries.length}] exceeds the allowed maximum [${MAX_ATTRIBUTES}].`,
    );
  }
  for (const [name, attribute] of entries) checkAttribute(name, attribute);
}

function checkAttribute(name: string, attribute: MessageAttribute): void {
  if (!/^[\w.-]{1,256}$/.test(name) || /^\.|\.$|\.\.|^(aws|amazon)\./i.test(name)) {
    throw invalidValue(`The message attribute name '${name}' is invalid.`);
  }
  const type = String(attribute?.DataType ?? '');
  const kind = /^(String|Number|Binary)(\..+)?$/.exec(type)?.[1];
  if (!kind) {
    throw invalidValue(
      `The message attribute '${name}' has an invalid message attribute type, the set of supported type prefixes is Binary, Number, and String.`,
    );
  }
  const value = kind === 'Binary' ? attribute.BinaryValue : attribute.StringValue;
  if (!value) {
    throw invalidValue(
      `Message (user) attribute '${name}' must contain a non-empty value of type '${kind === 'Binary' ? 'Binary' : 'String'}'.`,
    );
  }
  if (kind === 'Number' && Number.isNaN(Number(value))) {
    throw invalidValue(`Can't cast the value of message (user) attribute '${name}' to a number.`);
  }
  if (kind !== 'Binary') checkCharacters(value);
}

/** The digest that SDKs check: by name, each part with its length, string and binary values told apart. */
export function md5OfAttributes(attributes: MessageAttributes): string | undefined {
  const names = Object.keys(attributes).sort();
  if (names.length === 0) return undefined;
  const parts: Buffer[] = [];
  const add = (data: Buffer) => {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(data.length);
    parts.push(length, data);
  };
  for (const name of names) {
    const attribute = attributes[name];
    if (!attribute) continue;
    add(Buffer.from(name));
    add(Buffer.from(attribute.DataType));
    parts.push(attribute.BinaryValue === undefined ? STRING_VALUE : BINARY_VALUE);
    add(valueBytes(attribute));
  }
  return md5(Buffer.concat(parts));
}

/** What a message counts for against `MaximumMessageSize`: body, and names, types and values of attributes. */
export function sizeOf(body: string, attributes: MessageAttributes): number {
  return Object.entries(attributes).reduce(
    (size, [name, attribute]) =>
      size +
      Buffer.byteLength(name) +
      Buffer.byteLength(String(attribute.DataType)) +
      valueBytes(attribute).length,
    Buffer.byteLength(body),
  );
}

/** The attributes asked for by exact name, by `prefix.*`, or all of them. */
export function selectAttributes(
  attributes: MessageAttributes,
  asked: readonly string[],
): MessageAttributes {
  const wanted = (name: string) =>
    asked.some(
      (ask) =>
        ask === 'All' || ask === name || (ask.endsWith('.*') && name.startsWith(ask.slice(0, -2))),
    );
  return Object.fromEntries(Object.entries(attributes).filter(([name]) => wanted(name)));
}

function valueBytes(attribute: MessageAttribute): Buffer {
  return attribute.BinaryValue === undefined
    ? Buffer.from(attribute.StringValue ?? '')
    : Buffer.from(attribute.BinaryValue, 'base64');
}
