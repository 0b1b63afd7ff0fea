import { Connection, type OperatorService } from '@temporalio/client';
import type { Config } from '../config.js';
import { searchAttributes } from './temporal.js';

const KEYWORD = 2; // temporal.api.enums.v1.IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD

/** Names of the search attributes that Temporal does not know yet: it refuses workflows that carry them. */
export const missingSearchAttributes = async (service: OperatorService, namespace: string): Promise<string[]> => {
  const { customAttributes } = await service.listSearchAttributes({ namespace });
  return Object.keys(searchAttributes).filter((name) => !Object.hasOwn(customAttributes ?? {}, name));
};

/** Registers the search attributes that are missing; returns their names. */
export const applySearchAttributes = async (config: Config<'admin'>): Promise<string[]> => {
  const connection = await Connection.connect({
    address: config.TEMPORAL_ADDRESS,
    tls: config.TEMPORAL_TLS || config.TEMPORAL_API_KEY !== undefined,
    ...(config.TEMPORAL_API_KEY === undefined ? {} : { apiKey: config.TEMPORAL_API_KEY }),
  });
  try {
    const namespace = config.TEMPORAL_NAMESPACE;
    const missing = await missingSearchAttributes(connection.operatorService, namespace);
    if (missing.length > 0)
      await connection.operatorService.addSearchAttributes({
        namespace,
        searchAttributes: Object.fromEntries(missing.map((name) => [name, KEYWORD])),
      });
    return missing;
  } finally {
    await connection.close();
  }
};
